"""The answers of server.py as a WSGI application, for gunicorn and other servers that start worker processes:

gunicorn --chdir examples/serving_http --workers 2 --threads 8 'wsgi:Application("/tmp/models")'
"""

import http
import json

import server


class Application:
    """Serves the newest version in a folder. gunicorn makes one in each worker process, after the fork."""

    def __init__(self, folder):
        self._newest = server.Newest(folder, warm_up=((1, 10),))

    def close(self):
        """Stops looking for newer versions."""
        self._newest.close()

    def __call__(self, environ, start_response):
        status, content = self._answer(environ)
        body = json.dumps(content).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status} {http.HTTPStatus(status).phrase}", headers)
        return [body]

    def _answer(self, environ):
        model, path = self._newest.model, environ["PATH_INFO"]
        if (environ["REQUEST_METHOD"], path) == ("GET", "/health"):
            return 200, {"version": model.version}
        if (environ["REQUEST_METHOD"], path) != ("POST", "/predict"):
            return 404, {"error": f"No such path: {path}"}
        length = environ.get("CONTENT_LENGTH", "")
        if not length.isdecimal() or int(length) > server.MOST_BYTES:
            return 413, {"error": f"Content-Length must be at most {server.MOST_BYTES}."}
        return server.predict(model, environ["wsgi.input"].read(int(length)))
