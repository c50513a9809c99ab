// WEBHOOK_SECRET=… node verify.mjs "$X_SIGNATURE" < body: exits 0 if genuine, else 1.

import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";

// body: a Buffer of the raw bytes, as express.raw({ type: "application/json" }) gives it
function isGenuine(body, signature, secret) {
  const expected = Buffer.from("sha256=" + createHmac("sha256", secret).update(body).digest("hex"));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const secret = process.env.WEBHOOK_SECRET;
if (!secret) {
  console.error("WEBHOOK_SECRET is not set");
  process.exit(1);
}
process.exit(isGenuine(readFileSync(0), process.argv[2] ?? "", secret) ? 0 : 1);
