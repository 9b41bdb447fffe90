<?php

/**
 * A webhook receiver with PHP's own extensions (hash, json, pdo_pgsql). Behind php-fpm, or to try it:
 *   DATABASE_URL=postgresql://… WEBHOOK_SECRETS=whsec_… PHP_CLI_SERVER_WORKERS=4 php -S 127.0.0.1:4000 receiver.php
 * During a rotation WEBHOOK_SECRETS holds both secrets, separated by a comma.
 */

declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const BODY_BYTES_MAX = 1024 * 1024;
const SCHEMA_VERSION = 1;
const EXCEPTIONS = ['partially_paid', 'overpaid', 'manual_review'];

/** The request is not Paylink's, or is not to be handled: an HTTP status and a reason for our own log. */
final class Refused extends Exception
{
}

/** Whether the header holds one fresh time, and a signature of these bytes by one of our secrets. */
function isSigned(string $header, string $body): bool
{
    if (preg_match('/^t=(0|[1-9][0-9]{0,14})((?:,v1=[0-9a-f]{64}){1,16})$/D', $header, $match) !== 1) {
        return false;
    }
    [, $time, $digests] = $match;
    if (abs(time() - (int) $time) > TOLERANCE_SECONDS) {
        return false;
    }
    $signed = false;
    foreach (secrets() as $secret) {
        $expected = hash_hmac('sha256', "$time.$body", $secret);
        foreach (explode(',v1=', substr($digests, 4)) as $digest) {
            // Every pair is compared, so that the time taken says nothing of which fits.
            $signed = hash_equals($expected, $digest) || $signed;
        }
    }
    return $signed;
}

/** @return non-empty-list<string> */
function secrets(): array
{
    $secrets = array_values(array_filter(explode(',', (string) getenv('WEBHOOK_SECRETS')), fn ($one) => $one !== ''));
    return $secrets === [] ? throw new RuntimeException('WEBHOOK_SECRETS is empty') : $secrets;
}

/** The event of a genuine request. `$body` is the raw bytes: JSON written anew has another signature. */
function readEvent(string $body): array
{
    if (!isSigned($_SERVER['HTTP_PAYLINK_SIGNATURE'] ?? '', $body)) {
        throw new Refused('the signature does not verify', 400);
    }
    $event = json_decode($body, true, 64, JSON_THROW_ON_ERROR);
    $eventId = $_SERVER['HTTP_PAYLINK_EVENT_ID'] ?? '';
    $version = $_SERVER['HTTP_PAYLINK_VERSION'] ?? '';
    if ($eventId !== $event['id'] || $version !== (string) $event['schema_version']) {
        throw new Refused('the headers are not those of the body', 400);
    }
    if ($event['schema_version'] !== SCHEMA_VERSION) {
        // 503: Paylink sends it again until this program knows the version.
        throw new Refused("ALERT: schema version $version", 503);
    }
    return $event;
}

function connect(): PDO
{
    $url = parse_url((string) getenv('DATABASE_URL'));
    $dsn = sprintf('pgsql:host=%s;port=%d;dbname=%s', $url['host'], $url['port'] ?? 5432, substr($url['path'], 1));
    return new PDO($dsn, urldecode($url['user'] ?? ''), urldecode($url['pass'] ?? ''), [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
    ]);
}

function run(PDO $db, string $sql, array $values): PDOStatement
{
    $statement = $db->prepare($sql);
    $statement->execute($values);
    return $statement;
}

/** Stores the event and does what it calls for, in one transaction. */
function handle(array $event, string $body): string
{
    $db = connect();
    // Should anything throw, the connection closes without a commit, and PostgreSQL rolls back.
    $db->beginTransaction();
    $stored = run(
        $db,
        'insert into paylink_event (id, event_type, resource_id, sequence, body)
         values (?, ?, ?, ?, ?) on conflict (id) do nothing',
        [$event['id'], $event['event_type'], $event['resource_id'], $event['sequence'], $body],
    );
    $isNew = $stored->rowCount() === 1;
    if ($isNew && str_starts_with($event['event_type'], 'invoice.')) {
        updateOrder($db, $event);
    }
    $db->commit();
    return $isNew ? 'stored' : 'repeated';
}

/** Judges the order by all that is known of the invoice now: events arrive in any order. */
function updateOrder(PDO $db, array $event): void
{
    $reference = $event['data']['order_reference'] ?? $event['data']['external_reference'];
    // The lock comes before the reading: of two events at once, the second sees what the first stored.
    $order = run(
        $db,
        'select reference, status, livemode, checkout_session_id, invoice_id, usd_amount::text as usd_amount
         from shop_order where reference = ? for update',
        [$reference],
    )->fetch();
    if ($order === false) {
        error_log("no order $reference for event {$event['id']}");
        return;
    }
    $newest = run(
        $db,
        'select body from paylink_event where resource_id = ? order by sequence desc limit 1',
        [$event['resource_id']],
    )->fetchColumn();
    $invoice = json_decode($newest, true, 64, JSON_THROW_ON_ERROR)['data'];
    $wasToldPaid = run(
        $db,
        "select 1 from paylink_event where resource_id = ? and event_type = 'invoice.paid' limit 1",
        [$event['resource_id']],
    )->fetchColumn() !== false;

    if ($order['status'] === 'fulfilled') {
        // More money after the goods have left, or value that left the chain: people decide.
        $problem = $invoice['review_reason'] ?? ($invoice['status'] === 'paid' ? null : $invoice['status']);
        if ($problem !== null) {
            setOrder($db, $order, 'fulfilled', "after fulfilment: $problem");
        }
    } elseif ($invoice['status'] === 'paid' && $wasToldPaid) {
        $differences = compare($db, $order, $invoice);
        if ($differences === []) {
            setOrder($db, $order, 'fulfilled', $invoice['review_reason']);
        } else {
            setOrder($db, $order, 'exception', 'differs: ' . implode(', ', $differences));
        }
    } elseif (in_array($invoice['status'], EXCEPTIONS, true)) {
        setOrder($db, $order, 'exception', $invoice['status']);
    }
}

/** What of a paid invoice is not as the shop's own order has it. Nothing is fulfilled while there is anything. */
function compare(PDO $db, array $order, array $invoice): array
{
    $bySession = $order['checkout_session_id'] !== null;
    // Amounts are decimal strings: PostgreSQL compares them exactly.
    $agrees = run(
        $db,
        'select ?::text = any(assets) as asset, ?::numeric >= ?::numeric as amount from shop_order where reference = ?',
        [$invoice['asset'], $invoice['amount_confirmed'], $invoice['amount'], $order['reference']],
    )->fetch();
    $agreements = [
        'order_reference' => $invoice['order_reference'] === ($bySession ? $order['reference'] : null),
        'external_reference' => $bySession || $invoice['external_reference'] === $order['reference'],
        'checkout_session_id' => $invoice['checkout_session_id'] === $order['checkout_session_id'],
        'invoice_id' => $bySession || $invoice['id'] === $order['invoice_id'],
        'expected_usd_amount' => $invoice['expected_usd_amount'] === $order['usd_amount'],
        'livemode' => $invoice['livemode'] === $order['livemode'],
        'asset' => $agrees['asset'],
        'amount_confirmed' => $agrees['amount'],
    ];
    return array_keys($agreements, false, true);
}

/** The order's row is the shop's word: whatever packs and ships reads it from here. */
function setOrder(PDO $db, array $order, string $status, ?string $note): void
{
    run(
        $db,
        "update shop_order set status = ?, note = ?,
           fulfilled_at = case when ?::text = 'fulfilled' then coalesce(fulfilled_at, now()) end
         where reference = ?",
        [$status, $note, $status, $order['reference']],
    );
}

/** The body of a 2xx answer. */
function receive(): string
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST' || $_SERVER['REQUEST_URI'] !== '/webhooks') {
        throw new Refused('no such page', 404);
    }
    $body = (string) file_get_contents('php://input', false, null, 0, BODY_BYTES_MAX + 1);
    if (strlen($body) > BODY_BYTES_MAX) {
        throw new Refused('the body is too large', 413);
    }
    $event = readEvent($body);
    if ($event['event_type'] === 'webhook.endpoint_verification') {
        return json_encode(['challenge' => $event['data']['challenge']], JSON_THROW_ON_ERROR);
    }
    // 2xx only afterwards, when the event is committed: Paylink will not send it again.
    $outcome = handle($event, $body);
    error_log("$outcome {$event['event_type']} {$event['id']}");
    return '';
}

// No word of an error leaves the machine, and none is taken for a 2xx.
ini_set('display_errors', '0');
http_response_code(500);
try {
    $answer = receive();
    http_response_code(200);
    header('content-type: application/json');
    echo $answer;
} catch (Refused $refusal) {
    error_log($refusal->getMessage());
    http_response_code($refusal->getCode());
} catch (Throwable $error) {
    error_log(get_class($error) . ': ' . $error->getMessage());
    http_response_code(500);
}
