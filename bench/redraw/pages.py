"""Pages of text and screenshots, drawn eight times as large as they are judged. Lengths are in pixels of the input."""

import math
import re

from PIL import Image, ImageDraw

K = 8
PROSE = (
    "The harbour master kept a ledger of every ship that came in after dusk, and of the weather in which it came. "
    "On the ninth of October 1847 he wrote: wind from the north-west, rain since four, the brig Juno overdue by two "
    "days. Nobody on the quay believed that she would come; “she is at the bottom,” said the pilot, “or in "
    "Lisbon.” At a quarter past eleven a lantern was seen off the point, then a second, and the bells were rung. "
    "Her cargo (wine, cork, 312 crates of oranges) was dry, and the captain asked for nothing but soup & sleep. "
)


class Page:
    def __init__(self, sources, width, height, ground="white"):
        self.sources, self.picture = sources, Image.new("RGB", (width * K, height * K), ground)
        self.draw, self.width, self.height = ImageDraw.Draw(self.picture), width, height

    def text(self, x, y, text, font, size, colour="black", anchor="la"):
        face = self.sources.font(font, round(size * K))
        self.draw.text((round(x * K), round(y * K)), text, fill=colour, font=face, anchor=anchor)
        return self.draw.textlength(text, font=face) / K

    def box(self, x, y, width, height, colour=None, edge=None, radius=0, line=1):
        area = [round(v * K) for v in (x, y, x + width, y + height)]
        self.draw.rounded_rectangle([*area[:2], area[2] - 1, area[3] - 1], radius * K, colour, edge, round(line * K))

    def line(self, points, colour, width=1):
        self.draw.line([(round(x * K), round(y * K)) for x, y in points], colour, round(width * K), joint="curve")

    def icon(self, package, name, x, y, size):
        drawn = self.sources.svg(self.sources.path(package, name), size * K, size * K)
        self.picture.paste(drawn, (round(x * K), round(y * K)), drawn)

    def prose(self, x, y, width, font, size, colour="black", lead=1.25, text=PROSE * 4, gap=" "):
        """Lines of words as wide as the column, down to the end of the page. Without a gap every letter is a word."""
        face, line = self.sources.font(font, round(size * K)), ""
        for word in text.split() if gap else text:
            if self.draw.textlength(line + gap + word, font=face) > width * K and line:
                self.text(x, y, line, font, size, colour)
                line, y = word, y + size * lead
                if y + size > self.height:
                    return
            else:
                line += (gap if line else "") + word
        self.text(x, y, line, font, size, colour)


def letter(sources, width, height, font, size, colour="black", ground="white", **more):
    page = Page(sources, width, height, ground)
    page.prose(size * 0.7, size * 0.6, width - 1.4 * size, font, size, colour, **more)
    return page.picture


def columns(sources, width, height):
    page = Page(sources, width, height, "#fdf6e3")
    page.text(width / 2, 6, "The Lantern off the Point", "vollkorn", 20, "#7a1f1f", "ma")
    page.text(width / 2, 32, "Chapter IX, in which a ship is given up", "garamond_italic", 12, "#333333", "ma")
    page.line([(10, 50), (width - 10, 50)], "#7a1f1f", 0.7)
    for i in range(2):
        page.prose(10 + i * width / 2, 56, width / 2 - 18, "libertine", 10.5, "#222222", text=PROSE[i * 60 :] * 6)
    return page.picture


def heading(sources, width, height):
    page = Page(sources, width, height, "#1f3a5f")
    page.text(width / 2, height / 2 - 8, "OPEN DAILY", "open_condensed", 26, "#ffd447", "mm")
    page.text(width / 2, height - 10, "9 am \u2013 6 pm, not on Mondays", "lato_light", 9, "white", "mm")
    return page.picture


CODE = """\
# Newton's method, from 1.0

def root(value, steps=20):
    guess = 1.0
    for i in range(steps):
        guess = (guess + value / guess) / 2
    return guess  # sqrt(2) is 1.41421

print(f"{root(2):.6f}")
assert abs(root(9) - 3) < 1e-9
names = {"a": 0x1F, "b": [1, 2, 3]}
while names and not done(names):
    names.popitem()
"""
KEYWORDS = {"def", "for", "in", "return", "assert", "print", "while", "and", "not", "range"}
WORDS = re.compile(r'f?"[^"]*"|#.*|\w+|\s+|[^\w\s"#]+')


def code(sources, width, height, font="hack", size=10, dark=False):
    """A program in an editor, coloured by word."""
    colours = (
        ("#1e1e2e", "#cdd6f4", "#cba6f7", "#7f849c", "#a6e3a1")
        if dark
        else ("#ffffff", "#24292e", "#d73a49", "#6a737d", "#22863a")
    )
    page = Page(sources, width, height, colours[0])
    page.box(0, 0, 3 * size * 0.6 + 4, height, "#181825" if dark else "#f3f4f6")
    for number, line in enumerate(CODE.split("\n")):
        y, x = 4 + number * size * 1.3, 3 * size * 0.6 + 8
        page.text(x - 8, y, str(number + 1), font, size, colours[3], "ra")
        for word in WORDS.findall(line):
            kind = 3 if word[0] == "#" else 4 if word[-1] == '"' else 2 if word in KEYWORDS else 1
            x += page.text(x, y, word, font, size, colours[kind])
    return page.picture


def terminal(sources, width, height):
    page, size = Page(sources, width, height, "#300a24"), 11
    listing = [
        ("drwxr-xr-x  4 ann  staff   128 Mar  3 09:12 ", "docs", "#729fcf"),
        ("-rw-r--r--  1 ann  staff  8196 Mar  1 17:40 ", "notes.txt", "#eeeeec"),
        ("-rwxr-xr-x  1 ann  staff 91244 Feb 28 22:05 ", "build.sh", "#8ae234"),
        ("-rw-r--r--  1 ann  staff 40113 Feb 27 08:31 ", "cover.png", "#ad7fa8"),
        ("lrwxr-xr-x  1 ann  staff    11 Feb 20 12:00 ", "latest -> docs", "#34e2e2"),
    ]
    y = 4
    for before, name, colour in [("total 312", "", ""), *listing]:
        x = 4 + page.text(4, y, before, "inconsolata", size, "#eeeeec")
        page.text(x, y, name, "inconsolata", size, colour or "#eeeeec")
        y += 13
    for command in ("git log --oneline | head -3", "make test && ./build.sh --all"):
        x = 4 + page.text(4, y, "ann@harbour", "inconsolata", size, "#8ae234")
        x += page.text(x, y, ":~/book$ ", "inconsolata", size, "#729fcf")
        page.text(x, y, command, "inconsolata", size, "#eeeeec")
        y += 13
    page.box(4, y, 6, 12, "#eeeeec")
    return page.picture


def menu(sources, width, height):
    page, y = Page(sources, width, height, "#dfe3e8"), 12
    page.box(10, 6, width - 20, height - 12, "#fafafa", "#b8bec6", 6)
    entries = [
        ("document-open", "Open With\u2026", "Ctrl+O"),
        ("edit-cut", "Cut", "Ctrl+X"),
        ("edit-copy", "Copy", "Ctrl+C"),
        None,
        ("edit-find", "Search in Folder", "Ctrl+F"),
        ("user-trash", "Move to Trash", "Del"),
        None,
        ("document-properties", "Properties", "Alt+Enter"),
    ]
    for i, entry in enumerate(entries):
        if entry is None:
            page.line([(16, y + 3.5), (width - 16, y + 3.5)], "#d5d9de")
            y += 8
            continue
        name, label, keys = entry
        if i == 4:
            page.box(13, y - 2, width - 26, 21, "#3584e4", radius=4)
        folder = "places" if name == "user-trash" else "actions"
        page.icon("adwaita-icon-theme", f"icons/Adwaita/scalable/{folder}/{name}-symbolic.svg", 19, y, 16)
        page.text(42, y + 8, label, "cantarell", 11, "white" if i == 4 else "#2e3436", "lm")
        page.text(width - 19, y + 8, keys, "cantarell", 9, "#e0e8f5" if i == 4 else "#8a9199", "rm")
        y += 22
    return page.picture


def sheet(sources, width, height):
    page, rows = Page(sources, width, height), [
        "Harbour",
        "Lisbon",
        "Cadiz",
        "Bergen",
        "Gdansk",
        "Hull",
        "Nantes",
        "Genoa",
    ]
    page.box(0, 0, width, 16, "#e8eaed")
    for row, name in enumerate(rows):
        y = row * 16
        for column in range(6):
            x = 60 + (column - 1) * 46 if column else 0
            page.box(x, y, 60 if not column else 46, 16, None, "#c4c8cc", line=0.5)
            label = (
                name
                if not column
                else (
                    "2019 2020 2021 2022 Mean".split()[column - 1]
                    if not row
                    else f"{(row * 7919 + column * 104729) % 9973 / 10:,.1f}"
                )
            )
            bold = "_bold" if not row or column == 5 else ""
            if column:
                page.text(
                    x + 42, y + 8, label, "open" + bold, 9, "#b00020" if label.startswith("9") else "#202124", "rm"
                )
            else:
                page.text(4, y + 8, label, "open" + bold, 9, "#202124", "lm")
    page.box(105.5, 47, 47, 17, None, "#1a73e8", line=1.5)
    return page.picture


def chart(sources, width, height):
    page = Page(sources, width, height)
    page.text(width / 2, 4, "Ships a month", "lato_bold", 12, "#333333", "ma")
    left, bottom = 28, height - 24
    for i in range(5):
        y = bottom - i * (bottom - 26) / 4
        page.line([(left, y), (width - 8, y)], "#dddddd", 0.6)
        page.text(left - 4, y, str(i * 25), "lato", 9, "#555555", "rm")
    step = (width - left - 12) / 11
    for colour, phase in (("#d62728", 0.0), ("#1f77b4", 2.1)):
        points = [
            (left + i * step, bottom - (bottom - 30) * (0.5 + 0.42 * math.sin(i * 0.8 + phase))) for i in range(12)
        ]
        page.line(points, colour, 1.6)
    for i in range(0, 12, 2):
        page.text(left + i * step, bottom + 4, "JFMAMJJASOND"[i], "lato", 9, "#555555", "ma")
    page.line([(left, 24), (left, bottom), (width - 8, bottom)], "#333333")
    return page.picture


def window(sources, width, height):
    """A file manager before a desktop."""
    page = Page(sources, width, height, "#2c6e8f")
    page.box(16, 14, width - 32, height - 40, "#fcfcfc", "#1d2021", 6)
    page.box(16, 14, width - 32, 24, "#31363b", radius=6)
    page.text(width / 2, 26, "Pictures \u2014 Files", "cantarell_bold", 12, "#eff0f1", "mm")
    for i, colour in enumerate(("#da4453", "#f6d32d", "#26a269")):
        page.box(width - 40 - 16 * i, 20, 11, 11, colour, radius=5.5)
    page.box(17, 38, 106, height - 65, "#eff0f1")
    places = ["Home", "Desktop", "Documents", "Downloads", "Music", "Pictures", "Videos", "Trash"]
    for i, name in enumerate(places):
        if name == "Pictures":
            page.box(20, 44 + i * 22, 100, 20, "#3daee9", radius=3)
        page.text(48, 54 + i * 22, name, "open", 11, "white" if name == "Pictures" else "#232629", "lm")
        page.icon(
            "tango-icon-theme",
            f"icons/Tango/scalable/places/{'user-trash' if name == 'Trash' else 'folder'}.svg",
            26,
            46 + i * 22,
            16,
        )
    files = [
        "folder-music",
        "folder-blue",
        "folder-red",
        "folder-green",
        "folder-yellow",
        "folder-pictures",
        "folder-games",
        "folder-download",
        "folder-cyan",
        "folder-violet",
        "folder-black",
        "folder-html",
    ]
    for i, name in enumerate(files):
        x, y = 140 + i % 4 * 86, 52 + i // 4 * 88
        page.icon("papirus-icon-theme", f"icons/Papirus/64x64/places/{name}.svg", x, y, 56)
        page.text(x + 28, y + 64, name[7:].title() + f" {1998 + i}", "open", 10, "#232629", "mm")
    page.box(0, height - 20, width, 20, "#1d2021")
    page.text(width - 8, height - 10, "Mon 9 Oct  23:14", "cantarell", 11, "white", "rm")
    return page.picture
