"""The contents of the page of a run."""

import base64
import json
import re
import zlib


def page_content(page):
    """The fields, series and titles that page.js draws."""
    (text,) = re.findall(r'<script type="text/plain" id="content">(.*?)</script>', page.read_text("utf-8"))
    return json.loads(zlib.decompress(base64.b64decode(text)))
