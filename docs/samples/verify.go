// WEBHOOK_SECRET=… go run verify.go "$X_SIGNATURE" < body: exits 0 if genuine, else 1.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// isGenuine reports whether the raw body was signed with the secret.
func isGenuine(body []byte, signature, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature))
}

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		fmt.Fprintln(os.Stderr, "WEBHOOK_SECRET is not set")
		os.Exit(1)
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil || len(os.Args) < 2 || !isGenuine(body, os.Args[1], secret) {
		os.Exit(1)
	}
}
