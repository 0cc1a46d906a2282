"""The pictures of bench/redraw: (kind, name, times the input, where from, truth)."""

from PIL import Image, ImageDraw, ImageFont, ImageOps

import pages
from arithmetic import area_average

KINDS = ("photo", "portrait", "text", "line", "icon", "two-tone", "pixel")
QUICK = (
    "kodim05_64 kodim03 albert_64 dog_64 lato_160 menu_180 church_118 cone_64 web_48 gedit_64 folder_32 cub_200"
    " diamond_16 knight_32"
).split()


def on(picture, ground):
    """Laid over a colour."""
    whole = Image.new("RGBA", picture.size, ground)
    whole.alpha_composite(picture)
    return whole.convert("RGB")


def grey_on(picture, ground="white"):
    return on(picture, ground).convert("L")


def photographs(sources):
    def kodak(number):
        return Image.open(sources.data / f"kodak/kodim{number:02}.png").convert("RGB")

    lefts = (128, 200, 128, 0, 128, 100, 200, 128, 0, 0, 128, 80)
    tops = (0, 0, 0, 128, 0, 0, 0, 0, 200, 128, 0, 0)
    for i, (x, y) in enumerate(zip(lefts, tops), 1):
        yield f"kodim{i:02}", 4, "kodak", kodak(i)
        yield f"kodim{i:02}_64", 8, "kodak", kodak(i).crop((x, y, x + 512, y + 512))
    for i in (5, 8):
        yield f"kodim{i:02}_half", 2, "kodak", kodak(i)
    for name, width in (("bicycle", 64), ("tomatoes", 48), ("tree", 64)):
        file = sources.path("gnome-control-center-data", f"pixmaps/faces/{name}.jpg")
        yield f"{name}_{width}", 8, "gnome-control-center-data", area_average(
            Image.open(file).convert("RGB"), width * 8, width * 8
        )


def portraits(sources):
    """Faces of people and animals, and whole photographs as thumbnails."""

    def shared(name):
        return Image.open(sources.data / f"pictures/{name}")

    albert = shared("albert.jpg").convert("L")
    yield "albert_320", 8, "public domain, albert.jpg", area_average(albert.crop((0, 0, 3240, 4320)), 2560, 3416)
    yield "albert_64", 8, "public domain, albert.jpg", area_average(albert.crop((700, 500, 2700, 2900)), 512, 616)
    astronaut = shared("astronaut.png").convert("RGB")
    yield "astronaut_64", 8, "NASA, public domain", astronaut
    yield "astronaut_face_24", 8, "NASA, public domain", astronaut.crop((128, 8, 320, 232))
    yield "chelsea_56", 8, "CC0, scikit-image", shared("chelsea.png").convert("RGB").crop((0, 0, 448, 296))
    hat = Image.open(sources.data / "kodak/kodim04.png").convert("RGB")
    yield "hat_face_40", 8, "kodak", hat.crop((90, 90, 410, 474))
    yield "hat_64", 8, "kodak", hat.crop((0, 60, 512, 700))
    for name, width in (("Dog", 64), ("Owl", 48), ("Parrot", 64), ("Chameleon", 32), ("Cat", 64)):
        found = Image.open(sources.path("plasma-workspace-data", f"plasma/avatars/photos/{name}.png")).convert("RGB")
        yield f"{name.lower()}_{width}", 8, "plasma-workspace-data", area_average(found, width * 8, width * 8)
    for number in (2, 9, 12):
        found = Image.open(sources.data / f"kodak/kodim{number:02}.png").convert("RGB")
        width = found.width // 8
        yield f"thumbnail{number:02}_{width}", 8, "kodak", found


def texts(sources):
    ledger = "港の記録は夕暮れに始まる。北西の風、雨は四時から。船は二日遅れている。"
    ledger += "灯りが一つ、また一つ、岬の沖に見えた。鐘が鳴った。"
    yield "lato_160", 8, "fonts-lato", pages.letter(sources, 160, 120, "lato", 11)
    yield "garamond_200", 8, "fonts-ebgaramond", pages.letter(sources, 200, 150, "garamond", 14, "#2b1d0e", "#f4ecd8")
    yield "courier_192", 8, "fonts-courier-prime", pages.letter(sources, 192, 128, "courier", 12, "#222222")
    yield "comic_96", 8, "fonts-comic-neue", pages.letter(sources, 96, 64, "comic", 13, "#003399", "#fff3a0")
    yield "cantarell_128", 8, "fonts-cantarell", pages.letter(sources, 128, 96, "cantarell", 9, "#dddddd", "#202020")
    yield "takao_160", 8, "fonts-takao-gothic", pages.letter(
        sources, 160, 96, "takao", 13, text=ledger * 3, gap="", lead=1.35
    )
    yield "columns_320", 8, "fonts-linuxlibertine", pages.columns(sources, 320, 240)
    yield "sign_128", 8, "fonts-open-sans", pages.heading(sources, 128, 56)
    yield "code_240", 8, "fonts-hack", pages.code(sources, 240, 176)
    yield "code_dark_200", 8, "fonts-inconsolata", pages.code(sources, 200, 128, "inconsolata", 11, True)
    yield "terminal_300", 8, "fonts-inconsolata", pages.terminal(sources, 300, 130)
    yield "menu_180", 8, "fonts-cantarell", pages.menu(sources, 180, 172)
    yield "sheet_290", 8, "fonts-open-sans", pages.sheet(sources, 290, 128)
    yield "chart_200", 8, "fonts-lato", pages.chart(sources, 200, 140)
    yield "window_512", 8, "papirus-icon-theme", pages.window(sources, 512, 340)


def clip(sources, file, width):
    return sources.ink(sources.path("openclipart-svg", f"openclipart/svg/{file}.svg"), width, 8)


def line_art(sources):
    yield "cub_grey_200", 8, "assets", grey_on(sources.svg(sources.assets / "cub.svg", 1600, 1600))
    for name, file, width in (
        ("church_118", "buildings/church_building_01_01", 118),
        ("cone_64", "food/desserts/cone_alt1_bw", 64),
        ("elevator_160", "buildings/grain_elevator_ganson", 160),
        ("tank_256", "transportation/m1_abrams_main_battle_tank_01", 256),
        ("bus_120", "transportation/bus2_bw_jarno_vasamaa_01", 120),
        ("toque_32", "food/toque_01", 32),
        ("hand_96", "unsorted/paper_RPSWB", 96),
        ("earring_80", "people/clothing/earring_frouke_01", 80),
        ("orange_48", "food/fruit/orange_wedge_bw", 48),
        ("burrito_72", "food/burrito_bw_ganson", 72),
        ("plane_180", "transportation/vehicles/departing_plane_01", 180),
    ):
        yield name, 8, "openclipart-svg", grey_on(clip(sources, file, width))
    chalk = grey_on(clip(sources, "food/desserts/glace_7_bw_jean-victor_b_01", 60), "white")
    yield "chalk_60", 8, "openclipart-svg", ImageOps.invert(chalk)


THEMES = {
    "papirus": "Papirus/64x64/",
    "breeze": "breeze/",
    "tango": "Tango/scalable/",
    "numix": "Numix/48/",
    "elementary": "elementary/",
    "gnome": "gnome/scalable/",
    "adwaita": "Adwaita/scalable/",
}


def icons(sources):
    """Most keep their alpha; some lie on a colour, as on a page."""
    for name, theme, file, size, ground in (
        ("password_16", "papirus", "apps/preferences-desktop-user-password", 16, None),
        ("gedit_64", "papirus", "apps/gedit", 64, "white"),
        ("controller_24", "papirus", "apps/sc-controller", 24, None),
        ("tuxtype_48", "papirus", "apps/tuxtype", 48, "#e8e8e8"),
        ("colours_128", "papirus", "apps/xfce4-color-settings", 128, None),
        ("notjunk_32", "breeze", "actions/32/mail-mark-notjunk", 32, None),
        ("text_r_32", "breeze", "mimetypes/32/text-x-r", 32, "white"),
        ("video_22", "breeze", "preferences/32/preferences-desktop-multimedia", 22, None),
        ("web_48", "tango", "apps/internet-web-browser", 48, None),
        ("paint_96", "tango", "categories/package_graphics", 96, "white"),
        ("smiley_22", "tango", "emotes/stock_smiley-2", 22, "white"),
        ("folder_32", "numix", "places/folder-ubuntu", 32, "#2e3436"),
        ("tiff_48", "numix", "mimetypes/image-tiff", 48, None),
        ("help_24", "elementary", "categories/64/system-help", 24, "white"),
        ("fonts_64", "elementary", "mimes/64/font-x-generic", 64, None),
        ("swirl_40", "gnome", "places/debian-swirl", 40, "white"),
        ("send_16", "adwaita", "actions/mail-send-symbolic", 16, "white"),
    ):
        package = f"{theme}-icon-theme"
        drawn = sources.svg(sources.path(package, f"icons/{THEMES[theme]}{file}.svg"), size * 8, size * 8)
        yield name, 8, package, on(drawn, ground) if ground else drawn
    kmail = Image.open(sources.path("oxygen-icon-theme", "icons/oxygen/base/128x128/apps/kmail.png")).convert("RGBA")
    yield "kmail_16", 8, "oxygen-icon-theme", kmail
    pad = Image.open(sources.path("adwaita-icon-theme", "icons/Adwaita/512x512/devices/input-gaming.png")).convert(
        "RGBA"
    )
    yield "gaming_64", 8, "adwaita-icon-theme", pad
    yield "emoji_17", 8, "fonts-noto-color-emoji", emoji(sources)
    for name, file, width in (
        ("pear_40", "food/fruit/green_pear_01", 40),
        ("dino_96", "animals/dinosaurs/dino_architetto_francesc_05", 96),
        ("zigzag_48", "transportation/roadsigns/zigzag", 48),
        ("planet_200", "geography/planet_costea_bogdan_r", 200),
        ("xylophone_128", "recreation/music/xylophone_ganson", 128),
    ):
        yield name, 8, "openclipart-svg", on(clip(sources, file, width), "white")


def emoji(sources):
    """The font's own bitmap, 136 x 128, in the middle of 136 x 136."""
    file = sources.path("fonts-noto-color-emoji", "fonts/truetype/noto/NotoColorEmoji.ttf")
    drawn = Image.new("RGBA", (136, 136))
    font = ImageFont.truetype(str(file), 109, layout_engine=ImageFont.Layout.BASIC)
    ImageDraw.Draw(drawn).text((68, 68), "\U0001f60e", font=font, embedded_color=True, anchor="mm")
    return drawn


def two_tones(sources):
    """Truths are smooth in greys; inputs are black where at least half of the pixel is ink."""
    yield "cub_200", 8, "assets", grey_on(sources.svg(sources.assets / "cub.svg", 1600, 1600))
    for name, file, width in (
        ("swan_96", "animals/birds/cigno_architetto_frances_01", 96),
        ("cheetah_160", "animals/mammals/big_cats/contour_cheetah", 160),
        ("giraffe_48", "animals/mammals/contour_giraffe", 48),
        ("bull_96", "animals/mammals/bull_utrescu_", 96),
        ("biohazard_48", "signs_and_symbols/biohazard_01", 48),
        ("spider_100", "animals/bugs/mostriciattolo_architett_01", 100),
        ("portrait_64", "people/martin_luther_king_jr._h_03", 64),
        ("calligraphy_128", "decorations/diamante_illuminati_ingo_", 128),
        ("baggage_32", "signs_and_symbols/map_symbols/aiga_baggage_lockers_", 32),
    ):
        yield name, 8, "openclipart-svg", grey_on(clip(sources, file, width))
    yield "fax_240", 8, "fonts-linuxlibertine", pages.letter(sources, 240, 160, "libertine", 16).convert("L")


MODS = "games/minetest/games/minetest_game/mods/"


def pixel_art(sources):
    """The truth is the sprite itself in squares."""

    def texture(name):
        return Image.open(sources.path("minetest-data", f"{MODS}{name}.png")).convert("RGBA")

    tiles = Image.open(sources.path("angband-data", "angband/xtra/graf/32x32.png")).convert("RGBA")

    def tile(row, column):
        return tiles.crop((column * 32, row * 32, column * 32 + 32, row * 32 + 32))

    scene = Image.new("RGBA", (160, 112), "#87b5e8")
    for x in range(0, 160, 16):
        for y, name in ((64, "default_grass_side"), (80, "default_dirt"), (96, "default_stone")):
            scene.alpha_composite(texture(f"default/textures/{'default_dirt' if y == 64 else name}"), (x, y))
        scene.alpha_composite(texture("default/textures/default_grass_side"), (x, 64))
    for name, x, y in (
        ("default/textures/default_tree", 32, 48),
        ("default/textures/default_tree", 32, 32),
        ("default/textures/default_leaves", 24, 16),
        ("default/textures/default_leaves", 40, 16),
        ("flowers/textures/flowers_rose", 80, 48),
        ("flowers/textures/flowers_tulip", 136, 48),
    ):
        scene.alpha_composite(texture(name), (x, y))
    scene.alpha_composite(tile(3, 3), (96, 32))
    sprites = [
        ("diamond_16", "minetest-data", texture("default/textures/default_diamond")),
        ("sword_16", "minetest-data", texture("default/textures/default_tool_diamondsword")),
        ("book_16", "minetest-data", on(texture("default/textures/default_book"), "#303048")),
        ("rose_16", "minetest-data", on(texture("flowers/textures/flowers_rose"), "white")),
        ("furnace_16", "minetest-data", on(texture("default/textures/default_furnace_front"), "white")),
        ("lily_16", "minetest-data", texture("flowers/textures/flowers_waterlily")),
        ("skin_64", "minetest-data", texture("player_api/models/character")),
        ("knight_32", "angband-data", tile(13, 5)),
        ("mage_32", "angband-data", on(tile(3, 4), "#3a5a3a")),
        ("dragon_32", "angband-data", on(tile(12, 10), "black")),
        ("potion_32", "angband-data", tile(8, 5)),
        ("scene_160", "minetest-data", scene.convert("RGB")),
    ]
    for name, package, sprite in sprites:
        yield name, 8, package, sprite.resize((sprite.width * 8, sprite.height * 8), Image.Resampling.NEAREST)


MAKERS = dict(zip(KINDS, (photographs, portraits, texts, line_art, icons, two_tones, pixel_art)))


def all_pictures(sources, kinds):
    for kind in kinds:
        for name, factor, package, truth in MAKERS[kind](sources):
            yield kind, name, factor, sources.about(package), truth
