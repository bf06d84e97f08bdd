"""Write configuration files."""


def write_toml(folder, text):
    """Write a text into the file my.toml of a folder; returns the path of the file."""
    folder.mkdir(exist_ok=True)
    path = folder / "my.toml"
    path.write_text(text)
    return path
