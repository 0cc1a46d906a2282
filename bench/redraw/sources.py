"""Where the pictures of bench/redraw come from: packages of Debian, Kodak and a few well-known photographs.

All of it is for judging only: nothing here may be used to train a prior (that has its own photographs, the fonts
DejaVu and Liberation, and shapes that it draws itself). Nothing is kept in the repository.
"""

import functools
import io
import subprocess
import sys
from pathlib import Path

from PIL import Image, ImageFont

from arithmetic import area_average

# Package: its terms, in short; the whole of them is in its usr/share/doc/PACKAGE/copyright.
PACKAGES = {
    "adwaita-icon-theme": "LGPL-3 or CC-BY-SA-3.0",
    "angband-data": "32x32.png: David Gervais, CC-BY-3.0",
    "breeze-icon-theme": "LGPL-3+",
    "elementary-icon-theme": "GPL-3+",
    "fonts-cantarell": "OFL-1.1",
    "fonts-comic-neue": "OFL-1.1",
    "fonts-courier-prime": "OFL-1.1",
    "fonts-ebgaramond": "OFL-1.1",
    "fonts-hack": "MIT and Bitstream Vera",
    "fonts-inconsolata": "OFL-1.0",
    "fonts-lato": "OFL-1.1",
    "fonts-linuxlibertine": "OFL-1.1",
    "fonts-noto-color-emoji": "OFL-1.1",
    "fonts-open-sans": "Apache-2.0",
    "fonts-takao-gothic": "IPA",
    "fonts-vollkorn": "OFL-1.1",
    "gnome-control-center-data": "faces: CC0",
    "gnome-icon-theme": "GPL-2+",
    "minetest-data": "textures: CC-BY-SA-3.0 and -4.0",
    "numix-icon-theme": "GPL-3+",
    "openclipart-svg": "public domain",
    "oxygen-icon-theme": "LGPL-3+",
    "papirus-icon-theme": "GPL-3",
    "plasma-workspace-data": "avatars/photos: CC0",
    "tango-icon-theme": "public domain",
}
FONTS = {
    "cantarell": "opentype/cantarell/Cantarell-Regular.otf",
    "cantarell_bold": "opentype/cantarell/Cantarell-Bold.otf",
    "comic": "opentype/comic-neue/ComicNeue-Bold.otf",
    "courier": "opentype/courier-prime/Courier Prime.otf",
    "garamond": "opentype/ebgaramond/EBGaramond12-Regular.otf",
    "garamond_italic": "opentype/ebgaramond/EBGaramond12-Italic.otf",
    "hack": "truetype/hack/Hack-Regular.ttf",
    "inconsolata": "truetype/inconsolata/Inconsolata.otf",
    "lato": "truetype/lato/Lato-Regular.ttf",
    "lato_light": "truetype/lato/Lato-Light.ttf",
    "lato_bold": "truetype/lato/Lato-Bold.ttf",
    "libertine": "opentype/linux-libertine/LinLibertine_R.otf",
    "libertine_bold": "opentype/linux-libertine/LinLibertine_RB.otf",
    "open": "truetype/open-sans/OpenSans-Regular.ttf",
    "open_bold": "truetype/open-sans/OpenSans-Bold.ttf",
    "open_condensed": "truetype/open-sans/OpenSans-CondBold.ttf",
    "takao": "truetype/takao-gothic/TakaoPGothic.ttf",
    "vollkorn": "truetype/vollkorn/Vollkorn-Bold.ttf",
}
SVG_SIDE = 4096  # of a drawing before it is cropped to its ink


def fail(what, fix):
    sys.exit(f"make_set.py: error: {what}\n  fix: {fix}")


def run(command, **options):
    try:
        return subprocess.run(command, check=True, capture_output=True, **options).stdout
    except FileNotFoundError:
        fail(f"there is no program {command[0]}", "install it; bench/redraw/README.md names the packages")
    except subprocess.CalledProcessError as error:
        fail(f"{' '.join(map(str, command))}: {error.stderr.decode(errors='replace').strip()}", "see above")


def fetch(folder):
    """Loads and unpacks what is not there yet; nothing is installed. Returns the versions."""
    packed, unpacked, versions = folder / "packed", folder / "unpacked", {}
    packed.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not list(packed.glob(f"{package}_*.deb")):
            print(f"loading {package}", file=sys.stderr)
            run(["apt-get", "download", "-q", package], cwd=packed)
        archive = sorted(packed.glob(f"{package}_*.deb"))[-1]
        versions[package] = archive.name.split("_")[1].replace("%3a", ":")
        if not (unpacked / package).exists():
            run(["dpkg-deb", "-x", str(archive), str(unpacked / package)])
    return versions


class Sources:
    def __init__(self, folder, data):
        self.data, self.unpacked = Path(data), Path(folder) / "unpacked"
        self.versions = fetch(Path(folder))
        self.assets = Path(__file__).resolve().parents[2] / "assets"

    def path(self, package, name):
        return self.unpacked / package / "usr/share" / name

    def about(self, package):
        """Origin and terms of what comes from there, in a line."""
        if package in PACKAGES:
            return f"{package} {self.versions[package]}; {PACKAGES[package]}"
        return {"kodak": "Kodak, unrestricted use", "assets": "assets/cub.svg of this repository"}.get(
            package, package
        )

    @functools.lru_cache(maxsize=None)
    def font(self, name, size):
        file = next(self.unpacked.glob(f"fonts-*/usr/share/fonts/{FONTS[name]}"))
        return ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.BASIC)

    def svg(self, path, width, height):
        """A vector drawing in the middle of a clear picture of that size."""
        found = run(["rsvg-convert", "-a", "-w", str(width), "-h", str(height), "-f", "png", str(path)])
        drawn = Image.open(io.BytesIO(found)).convert("RGBA")
        if drawn.size == (width, height):
            return drawn
        whole = Image.new("RGBA", (width, height))
        whole.paste(drawn, ((width - drawn.width) // 2, (height - drawn.height) // 2))
        return whole

    def ink(self, path, width, factor):
        """A vector drawing cut to its ink with a margin, `width` pixels wide times the factor."""
        drawn = self.svg(path, SVG_SIDE, SVG_SIDE)
        left, top, right, bottom = drawn.getchannel("A").getbbox()
        margin = round(0.04 * max(right - left, bottom - top))
        cut = drawn.crop((left - margin, top - margin, right + margin, bottom + margin))
        height = max(1, round(width * cut.height / cut.width))
        if cut.width < width * factor:
            fail(
                f"{path} has too little ink for {width * factor} pixels", "take a larger SVG_SIDE or another drawing"
            )
        return area_average(cut, width * factor, height * factor)
