"""A configuration in a file."""


def write_toml(folder, text):
    """The path of my.toml, which holds the text from now on."""
    folder.mkdir(exist_ok=True)
    path = folder / "my.toml"
    path.write_text(text)
    return path
