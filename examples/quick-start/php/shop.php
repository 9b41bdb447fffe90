<?php

/**
 * A shop in plain PHP, without a package. Behind php-fpm, or to try it:
 *   PAYLINK_URL=http://localhost:3000 PAYLINK_API_KEY=sk_test_… PAYLINK_WEBHOOK_SECRET=whsec_… ORDERS_DIR=orders \
 *     PHP_CLI_SERVER_WORKERS=4 php -S 127.0.0.1:4000 shop.php
 */

declare(strict_types=1);

const TOLERANCE_SECONDS = 300;

/** One request to the API. Throws for whatever is not 2xx. */
function paylink(string $method, string $path, ?array $body = null, array $headers = []): array
{
    $context = stream_context_create(['http' => [
        'method' => $method,
        'header' => [
            'authorization: Bearer ' . getenv('PAYLINK_API_KEY'),
            'content-type: application/json',
            ...$headers,
        ],
        'content' => $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR),
        'timeout' => 8,
        // A redirect would carry the key elsewhere.
        'follow_location' => 0,
    ]]);
    $answer = @file_get_contents(getenv('PAYLINK_URL') . "/api/v1$path", false, $context);
    if ($answer === false) {
        throw new RuntimeException("$method $path failed: " . ($http_response_header[0] ?? 'no answer'));
    }
    return json_decode($answer, true, 64, JSON_THROW_ON_ERROR);
}

function buy(): void
{
    $order = ['reference' => 'order-' . bin2hex(random_bytes(16)), 'usd_amount' => '12.50', 'status' => 'open'];
    saveOrder($order);
    // The key is the order's: should this be sent twice, there is one invoice.
    $invoice = paylink('POST', '/invoices', [
        'usd_amount' => $order['usd_amount'],
        'external_reference' => $order['reference'],
        'allow_asset_selection' => true,
    ], ["idempotency-key: {$order['reference']}"]);
    saveOrder($order + ['invoice_id' => $invoice['id']]);
    header("location: {$invoice['checkout_url']}", true, 303);
}

/** Whether the header holds one fresh time, and a signature of these bytes by our secret. */
function isSigned(string $header, string $body): bool
{
    if (preg_match('/^t=(0|[1-9][0-9]{0,14})((?:,v1=[0-9a-f]{64}){1,16})$/D', $header, $match) !== 1) {
        return false;
    }
    [, $time, $digests] = $match;
    $secret = (string) getenv('PAYLINK_WEBHOOK_SECRET');
    // Anybody can sign with an empty key.
    if (!str_starts_with($secret, 'whsec_') || abs(time() - (int) $time) > TOLERANCE_SECONDS) {
        return false;
    }
    $expected = hash_hmac('sha256', "$time.$body", $secret);
    $signed = false;
    foreach (explode(',v1=', substr($digests, 4)) as $digest) {
        $signed = hash_equals($expected, $digest) || $signed;
    }
    return $signed;
}

function receive(): void
{
    // The raw body is what is signed.
    $body = (string) file_get_contents('php://input');
    if (!isSigned($_SERVER['HTTP_PAYLINK_SIGNATURE'] ?? '', $body)) {
        http_response_code(400);
        return;
    }
    $event = json_decode($body, true, 64, JSON_THROW_ON_ERROR);
    if ($event['schema_version'] !== 1) {
        // A version that this program does not know comes again until it does.
        http_response_code(503);
        return;
    }
    if ($event['event_type'] === 'webhook.endpoint_verification') {
        header('content-type: application/json');
        echo json_encode(['challenge' => $event['data']['challenge']]);
        return;
    }
    if (str_starts_with($event['event_type'], 'invoice.')) {
        updateOrder($event['data']['id']);
    }
    // 2xx only now, when the order is saved: Paylink will not send this event again.
    http_response_code(200);
}

/** Events come twice and in any order, so the order follows the invoice as it stands, and not as the event says. */
function updateOrder(string $invoiceId): void
{
    $invoice = paylink('GET', "/invoices/$invoiceId");
    $order = loadOrder($invoice['external_reference']);
    if ($order === null || $order['status'] === 'paid' || $invoice['status'] !== 'paid') {
        return;
    }
    // What was paid is compared with what this shop itself wrote down.
    if ($invoice['id'] !== $order['invoice_id'] || $invoice['expected_usd_amount'] !== $order['usd_amount']) {
        throw new RuntimeException("{$order['reference']} differs from {$invoice['id']}");
    }
    saveOrder(['status' => 'paid'] + $order);
    error_log("{$order['reference']} is paid: ship it");
}

// One file an order, in place of your database.
function fileOf(string $reference): string
{
    return (getenv('ORDERS_DIR') ?: '.') . "/$reference.json";
}

function loadOrder(?string $reference): ?array
{
    if (preg_match('/^order-[0-9a-f]{32}$/D', $reference ?? '') !== 1) {
        return null;
    }
    return json_decode((string) file_get_contents(fileOf($reference)), true, 8, JSON_THROW_ON_ERROR);
}

function saveOrder(array $order): void
{
    $file = fileOf($order['reference']);
    $whole = $file . '.' . bin2hex(random_bytes(8));
    if (file_put_contents($whole, json_encode($order, JSON_THROW_ON_ERROR)) === false || !rename($whole, $file)) {
        throw new RuntimeException("{$order['reference']} could not be saved");
    }
}

try {
    match ($_SERVER['REQUEST_METHOD'] . ' ' . parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        'POST /buy' => buy(),
        'POST /webhooks' => receive(),
        default => http_response_code(404),
    };
} catch (Throwable $error) {
    // Whatever is not answered 2xx comes again.
    error_log($error->getMessage());
    http_response_code(500);
}
