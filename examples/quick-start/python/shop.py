"""A shop with Python's standard library alone:

PAYLINK_URL=http://localhost:3000 PAYLINK_API_KEY=sk_test_… PAYLINK_WEBHOOK_SECRET=whsec_… ORDERS_DIR=orders python3 shop.py
"""

import hashlib
import hmac
import json
import os
import re
import time
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOLERANCE_SECONDS = 300
BODY_BYTES_MAX = 1024 * 1024
ORDERS = Path(os.environ.get("ORDERS_DIR", "."))
SECRET = os.environ["PAYLINK_WEBHOOK_SECRET"]
if not SECRET.startswith("whsec_"):
    raise SystemExit("PAYLINK_WEBHOOK_SECRET must be a signing secret: anybody can sign with an empty key")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key elsewhere."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect)


def paylink(method, path, body=None, headers=None):
    """One request to the API. Raises for whatever is not 2xx."""
    request = urllib.request.Request(
        f"{os.environ['PAYLINK_URL']}/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "authorization": f"Bearer {os.environ['PAYLINK_API_KEY']}",
            "content-type": "application/json",
            **(headers or {}),
        },
    )
    with opener.open(request, timeout=8) as answer:
        return json.load(answer)


def buy():
    """Makes an order and its invoice; gives the checkout's URL."""
    order = {"reference": f"order-{uuid.uuid4()}", "usd_amount": "12.50", "status": "open"}
    save_order(order)
    # The key is the order's: should this be sent twice, there is one invoice.
    invoice = paylink(
        "POST",
        "/invoices",
        {
            "usd_amount": order["usd_amount"],
            "external_reference": order["reference"],
            "allow_asset_selection": True,
        },
        {"idempotency-key": order["reference"]},
    )
    save_order({**order, "invoice_id": invoice["id"]})
    return invoice["checkout_url"]


def is_signed(header, body):
    """Whether the header holds one fresh time, and a signature of these bytes by our secret."""
    match = re.fullmatch(r"t=(0|[1-9][0-9]{0,14})((?:,v1=[0-9a-f]{64}){1,16})", header)
    if match is None or abs(time.time() - int(match[1])) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(SECRET.encode(), f"{match[1]}.".encode() + body, hashlib.sha256).hexdigest()
    # Every one is compared, so that the time taken says nothing of which fits.
    return any([hmac.compare_digest(expected, digest) for digest in match[2].split(",v1=")[1:]])


def update_order(invoice_id):
    """Events come twice and in any order, so the order follows the invoice as it stands, and not as the event says."""
    invoice = paylink("GET", f"/invoices/{invoice_id}")
    order = load_order(invoice["external_reference"])
    if order is None or order["status"] == "paid" or invoice["status"] != "paid":
        return
    # What was paid is compared with what this shop itself wrote down.
    if invoice["id"] != order["invoice_id"] or invoice["expected_usd_amount"] != order["usd_amount"]:
        raise RuntimeError(f"{order['reference']} differs from {invoice['id']}")
    save_order({**order, "status": "paid"})
    print(f"{order['reference']} is paid: ship it", flush=True)


def file_of(reference):
    """One file an order, in place of your database."""
    return ORDERS / f"{reference}.json"


def load_order(reference):
    if not re.fullmatch(r"order-[0-9a-f-]{36}", reference or ""):
        return None
    return json.loads(file_of(reference).read_text())


def save_order(order):
    file = file_of(order["reference"])
    whole = file.with_suffix(f".{uuid.uuid4()}")
    whole.write_text(json.dumps(order))
    whole.replace(file)


class Shop(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            # The raw bytes are what is signed.
            length = int(self.headers.get("content-length", 0))
            if length > BODY_BYTES_MAX:
                return self.answer(413)
            body = self.rfile.read(length)
            if self.path == "/buy":
                # Before the status line: what fails here is answered 500.
                checkout_url = buy()
                self.send_response(303)
                self.send_header("location", checkout_url)
                self.send_header("content-length", "0")
                return self.end_headers()
            if self.path == "/webhooks":
                return self.receive(body)
            self.answer(404)
        except Exception as error:  # Whatever is not answered 2xx comes again.
            print(repr(error), flush=True)
            self.answer(500)

    def receive(self, body):
        if not is_signed(self.headers.get("paylink-signature", ""), body):
            return self.answer(400)
        event = json.loads(body)
        # A version that this program does not know comes again until it does.
        if event["schema_version"] != 1:
            return self.answer(503)
        if event["event_type"] == "webhook.endpoint_verification":
            return self.answer(200, {"challenge": event["data"]["challenge"]})
        if event["event_type"].startswith("invoice."):
            update_order(event["data"]["id"])
        # 2xx only now, when the order is saved: Paylink will not send this event again.
        self.answer(200)

    def answer(self, status, fields=None):
        body = b"" if fields is None else json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Shop).serve_forever()
