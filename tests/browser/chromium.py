"""A real browser for the tests: Debian's Chromium without network, driven by selenium."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import time
from pathlib import Path

import leaks

BROWSER, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
AXE = os.environ.get("COBRE_TEST_AXE")
"""Path of axe.min.js; ``make test-browser`` installs and names it."""
SCREENSHOTS = os.environ.get("COBRE_TEST_SCREENSHOTS")
"""Folder for pictures of all pages; ``make test-browser`` names one."""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-crash-reporter",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1100,900",
)


def reason_to_skip():
    """Why there is no browser here; empty if there is one."""
    missing = [str(path) for path in (BROWSER, DRIVER) if not path.exists()]
    if missing:
        return f"no browser: {', '.join(missing)} not found (Debian packages chromium and chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return ""


class Browser:
    """One window. Whatever it asks the network for, and what it complains about, is remembered."""

    def __init__(self, profile):
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = str(BROWSER)
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # A home of its own: no file outside the profile. Without the mark of the test run: the window outlives a test.
        self._mark = f"HOME={profile}"
        environ = {name: value for name, value in os.environ.items() if name != leaks.MARK_NAME}
        service = Service(str(DRIVER), env={**environ, "HOME": str(profile), "XDG_CONFIG_HOME": str(profile)})
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_script_timeout(280)  # axe on a busy machine
        self.driver.set_page_load_timeout(60)

    def open(self, path, fragment=""):
        self.driver.get(f"{Path(path).as_uri()}{fragment}")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition):
        """Until a script returns something true; one minute at most."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 60, poll_frequency=0.05).until(
            lambda driver: driver.execute_script(f"return ({condition})")
        )

    def emulate(self, media="screen", **features):
        """Another medium, colour scheme (``prefers_color_scheme``) or ``forced_colors``."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": listed})

    def resize(self, width):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def complaints(self):
        """What the console says since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith(("data:", "chrome:"))]

    def violations(self):
        """What axe-core finds, as short texts."""
        self.run(Path(AXE).read_text(encoding="utf-8"))
        return self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document).then((r) => done(r.violations.map("
            "(v) => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | '))));"
        )

    def picture(self, name):
        """Store a screenshot of the whole page if a folder for pictures is set."""
        if SCREENSHOTS is None:
            return
        data = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"}
        )["data"]
        folder = Path(SCREENSHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.png").write_bytes(base64.b64decode(data))

    def pdf(self):
        data = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"]
        return base64.b64decode(data)

    def close(self):
        """End it; an error if a process of it is still there a minute later."""
        self.driver.quit()
        end = time.monotonic() + 60.0
        while (left := self._processes()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not left, f"processes of the browser are left: {left}"

    def _processes(self):
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if self._mark.encode() in path.read_bytes().split(b"\0"):
                    found.append(path.parent.name)
        return found
