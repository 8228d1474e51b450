"""The site of `make docs` in a headless browser; `make test-docs` builds it and runs this."""

import functools
import http.server
import json
import queue
import re
import shutil
import subprocess
import threading

import pytest

from support import pages

SITE = pages.ROOT / "build" / "site"
BROWSER = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    BROWSER is None or not (SITE / "index.html").exists(),
    reason="needs chromium and the site of make docs; make test-docs has both",
)
WIDTHS = {"phone": 360, "desktop": 1280}
# Opens each page in a frame of the width, and sends {page: what is wrong} to the server.
CHECK = """<!doctype html><body><script>
async function open(url, width) {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 800px; border: 0`;
  const loaded = new Promise((done) => { frame.onload = done; });
  frame.src = url;
  document.body.append(frame);
  await loaded;
  return frame;
}
async function faults(url, width) {
  const frame = await open(url, width);
  const page = frame.contentDocument, found = [];
  const wide = page.documentElement.scrollWidth;
  if (wide > width) found.push(`${wide} pixels wide`);
  for (const image of page.images) if (!image.naturalWidth) found.push(`no image ${image.src}`);
  if (!page.querySelector("h1")) found.push("no title");
  frame.remove();
  return found;
}
async function hits(word) {
  const frame = await open(`search.html?q=${word}`, 1280);
  let results = [];
  for (let k = 0, same = 0; same < 10 && k < 200; k++) {
    await new Promise((done) => setTimeout(done, 100));
    const now = [...frame.contentDocument.querySelectorAll("#search-results li > a")];
    same = now.length && now.length === results.length ? same + 1 : 0;
    results = now;
  }
  return results.map((a) => a.getAttribute("href"));
}
(async () => {
  const result = {};
  try {
    if (WORD) result.hits = await hits(WORD);
    for (const url of PAGES) {
      const found = await faults(url, WIDTH);
      if (found.length) result[url] = found;
    }
  } catch (error) { result.error = String(error); }
  await fetch("result", {method: "POST", body: JSON.stringify(result)});
})();
</script></body>"""


class _Handler(http.server.SimpleHTTPRequestHandler):
    """The site, the page that checks it, and the result of that page."""

    def do_GET(self):
        if self.path != "/check.html":
            return super().do_GET()
        body = self.server.check.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.server.result.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def _browse(tmp_path, names, width, word=""):
    """Runs the page that checks pages, and returns what it finds."""
    values = {"PAGES": names, "WIDTH": width, "WORD": word}
    handler = functools.partial(_Handler, directory=SITE)
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server:
        server.check = re.sub(r"\b(PAGES|WIDTH|WORD)\b", lambda m: json.dumps(values[m[1]]), CHECK)
        server.result = queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://localhost:{server.server_port}/check.html"
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        command += [f"--user-data-dir={tmp_path}", "--window-size=1400,900"]
        command += ["--remote-debugging-port=0", url]  # without a port it would end at once
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return server.result.get(timeout=900)
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()


@pytest.fixture(scope="module")
def names():
    found = sorted(str(p.relative_to(SITE)) for p in SITE.rglob("*.html"))
    found = [n for n in found if not n.startswith(("_", "genindex", "py-modindex", "search"))]
    assert len(found) > 50
    return found


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_every_page_fits_and_has_its_images(names, width, tmp_path):
    assert _browse(tmp_path, names, width) == {}


@pytest.mark.parametrize("word", ["PeepholeLSTM", "sequence_lengths"])
def test_search_finds_a_page_of_the_guides_and_of_the_reference(word, tmp_path):
    hits = _browse(tmp_path, [], 1280, word)["hits"]
    assert any(hit.startswith("docs/") for hit in hits)
    assert any(hit.startswith("api/") for hit in hits)
