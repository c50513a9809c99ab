<?php
// WEBHOOK_SECRET=… php verify.php "$X_SIGNATURE" < body: exits 0 if genuine, else 1.

// In a web server the raw body is file_get_contents('php://input'),
// and the signature $_SERVER['HTTP_X_SIGNATURE'] ?? ''.
function is_genuine(string $body, string $signature, string $secret): bool
{
    return hash_equals('sha256=' . hash_hmac('sha256', $body, $secret), $signature);
}

$secret = getenv('WEBHOOK_SECRET');
if ($secret === false || $secret === '') {
    fwrite(STDERR, "WEBHOOK_SECRET is not set\n");
    exit(1);
}
exit(is_genuine(stream_get_contents(STDIN), $argv[1] ?? '', $secret) ? 0 : 1);
