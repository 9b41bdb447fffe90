"""A webhook receiver with Python's standard library and psycopg2:

    DATABASE_URL=postgresql://… WEBHOOK_SECRETS=whsec_… PORT=4000 python3 receiver.py

During a rotation WEBHOOK_SECRETS holds both secrets, separated by a comma.
"""

import hashlib
import hmac
import json
import os
import re
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2

TOLERANCE_SECONDS = 300
BODY_BYTES_MAX = 1024 * 1024
SCHEMA_VERSION = 1
EXCEPTIONS = ("partially_paid", "overpaid", "manual_review")
SIGNATURE = re.compile(r"t=(0|[1-9][0-9]{0,14})((?:,v1=[0-9a-f]{64}){1,16})")

SECRETS = [secret.encode() for secret in os.environ.get("WEBHOOK_SECRETS", "").split(",") if secret]
if not SECRETS:
    sys.exit("WEBHOOK_SECRETS is empty")


class Refused(Exception):
    """The request is not Paylink's, or is not to be handled: an HTTP status and a reason for our own log."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def is_signed(header, body):
    """Whether the header holds one fresh time, and a signature of these bytes by one of our secrets."""
    match = SIGNATURE.fullmatch(header)
    if match is None or abs(int(time.time()) - int(match[1])) > TOLERANCE_SECONDS:
        return False
    digests = [part.removeprefix("v1=") for part in match[2].split(",")[1:]]
    signed = False
    for secret in SECRETS:
        expected = hmac.new(secret, match[1].encode() + b"." + body, hashlib.sha256).hexdigest()
        for digest in digests:
            # Every pair is compared, so that the time taken says nothing of which fits.
            signed = hmac.compare_digest(digest, expected) or signed
    return signed


def read_event(headers, body):
    """The event of a genuine request. `body` is the raw bytes: JSON written anew has another signature."""

    def one(name):
        values = headers.get_all(name, [])
        return values[0] if len(values) == 1 else ""

    if not is_signed(one("paylink-signature"), body):
        raise Refused(400, "the signature does not verify")
    event = json.loads(body)
    if one("paylink-event-id") != event["id"] or one("paylink-version") != str(event["schema_version"]):
        raise Refused(400, "the headers are not those of the body")
    if event["schema_version"] != SCHEMA_VERSION:
        # 503: Paylink sends it again until this program knows the version.
        raise Refused(503, f"ALERT: schema version {event['schema_version']}")
    return event


def handle(event, body):
    """Stores the event and does what it calls for, in one transaction."""
    # `with connection` commits at its end, or rolls back; `closing` closes.
    with closing(psycopg2.connect(os.environ["DATABASE_URL"])) as connection, connection, connection.cursor() as cursor:
        cursor.execute(
            """insert into paylink_event (id, event_type, resource_id, sequence, body)
               values (%s, %s, %s, %s, %s) on conflict (id) do nothing""",
            (event["id"], event["event_type"], event["resource_id"], event["sequence"], body.decode()),
        )
        is_new = cursor.rowcount == 1
        if is_new and event["event_type"].startswith("invoice."):
            update_order(cursor, event)
        return "stored" if is_new else "repeated"


def update_order(cursor, event):
    """Judges the order by all that is known of the invoice now: events arrive in any order."""
    data = event["data"]
    reference = data["external_reference"] if data["order_reference"] is None else data["order_reference"]
    # The lock comes before the reading: of two events at once, the second sees what the first stored.
    cursor.execute(
        """select reference, status, livemode, checkout_session_id, invoice_id, usd_amount::text
           from shop_order where reference = %s for update""",
        (reference,),
    )
    row = cursor.fetchone()
    if row is None:
        print(f"no order {reference} for event {event['id']}", file=sys.stderr, flush=True)
        return
    order = dict(zip(("reference", "status", "livemode", "checkout_session_id", "invoice_id", "usd_amount"), row))
    cursor.execute(
        "select body from paylink_event where resource_id = %s order by sequence desc limit 1",
        (event["resource_id"],),
    )
    invoice = json.loads(cursor.fetchone()[0])["data"]
    cursor.execute(
        "select 1 from paylink_event where resource_id = %s and event_type = 'invoice.paid' limit 1",
        (event["resource_id"],),
    )
    was_told_paid = cursor.fetchone() is not None

    if order["status"] == "fulfilled":
        # More money after the goods have left, or value that left the chain: people decide.
        problem = invoice["review_reason"] or (None if invoice["status"] == "paid" else invoice["status"])
        if problem is not None:
            set_order(cursor, order, "fulfilled", f"after fulfilment: {problem}")
    elif invoice["status"] == "paid" and was_told_paid:
        differences = compare(cursor, order, invoice)
        if differences:
            set_order(cursor, order, "exception", f"differs: {', '.join(differences)}")
        else:
            set_order(cursor, order, "fulfilled", invoice["review_reason"])
    elif invoice["status"] in EXCEPTIONS:
        set_order(cursor, order, "exception", invoice["status"])


def compare(cursor, order, invoice):
    """What of a paid invoice is not as the shop's own order has it. Nothing is fulfilled while there is anything."""
    by_session = order["checkout_session_id"] is not None
    # Amounts are decimal strings: PostgreSQL compares them exactly.
    cursor.execute(
        "select %s = any(assets), %s::numeric >= %s::numeric from shop_order where reference = %s",
        (invoice["asset"], invoice["amount_confirmed"], invoice["amount"], order["reference"]),
    )
    asset_agrees, amount_agrees = cursor.fetchone()
    agreements = {
        "order_reference": invoice["order_reference"] == (order["reference"] if by_session else None),
        "external_reference": by_session or invoice["external_reference"] == order["reference"],
        "checkout_session_id": invoice["checkout_session_id"] == order["checkout_session_id"],
        "invoice_id": by_session or invoice["id"] == order["invoice_id"],
        "expected_usd_amount": invoice["expected_usd_amount"] == order["usd_amount"],
        "livemode": invoice["livemode"] == order["livemode"],
        "asset": asset_agrees,
        "amount_confirmed": amount_agrees,
    }
    return [name for name, agrees in agreements.items() if not agrees]


def set_order(cursor, order, status, note):
    """The order's row is the shop's word: whatever packs and ships reads it from here."""
    cursor.execute(
        """update shop_order set status = %s, note = %s,
             fulfilled_at = case when %s = 'fulfilled' then coalesce(fulfilled_at, now()) end
           where reference = %s""",
        (status, note, status, order["reference"]),
    )


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Seconds for a request to come in.
    timeout = 10

    def do_POST(self):
        try:
            if self.path != "/webhooks":
                raise Refused(404, "no such page")
            answer = self.receive()
        except Refused as refusal:
            print(refusal, file=sys.stderr, flush=True)
            self.reply(refusal.status)
        except Exception as error:  # Whatever it is, Paylink must not take it for saved.
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            self.reply(500)
        else:
            self.reply(200, answer)

    def receive(self):
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit():
            raise Refused(411, "the body has no length")
        if int(length) > BODY_BYTES_MAX:
            # Bytes that nobody has read when the connection closes can cut off the answer.
            self.rfile.read(BODY_BYTES_MAX + 1)
            raise Refused(413, "the body is too large")
        body = self.rfile.read(int(length))
        event = read_event(self.headers, body)
        if event["event_type"] == "webhook.endpoint_verification":
            return json.dumps({"challenge": event["data"]["challenge"]}).encode()
        # 2xx only afterwards, when the event is committed: Paylink will not send it again.
        outcome = handle(event, body)
        print(f"{outcome} {event['event_type']} {event['id']}", flush=True)
        return b""

    def reply(self, status, body=b""):
        self.send_response(status)
        if status != 200:
            # Closes the connection, and says so: a sender must not begin its next request on it.
            self.send_header("connection", "close")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
    print("listening", flush=True)
    server.serve_forever()
