"""The contents of the web page of a run."""

import base64
import json
import re
import zlib


def page_content(page):
    (text,) = re.findall(r'<script type="text/plain" id="content">(.*?)</script>', page.read_text("utf-8"))
    return json.loads(zlib.decompress(base64.b64decode(text)))
