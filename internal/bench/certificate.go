package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
)

// writeCertificate writes path.pem and path.key, for servers that read files.
func writeCertificate(c *tls.Certificate, path string) error {
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return err
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	if err := os.WriteFile(path+".pem", chain, 0o600); err != nil {
		return err
	}
	return os.WriteFile(path+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600)
}
