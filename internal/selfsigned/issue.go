package selfsigned

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// lifetime is the longest that every browser and platform accepts for a server certificate.
	lifetime = 397 * 24 * time.Hour
	// skew makes a certificate valid for clients whose clocks are slow.
	skew = time.Hour
	// maxAddresses keeps the certificate of a host with thousands of addresses small enough for every client.
	maxAddresses = 256
	// lookupTimeout bounds the look-up of the host's full name, for machines without a name server.
	lookupTimeout = 2 * time.Second

	commonName       = "Ringfence (self-signed)"
	certificateBlock = "CERTIFICATE"
)

// issue signs a certificate for this host, and for more names and addresses, with its own key.
func issue(key *ecdsa.PrivateKey, now time.Time, more []string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	names, addresses := hostNames(), []net.IP{}
	for _, name := range more {
		if ip := net.ParseIP(name); ip != nil {
			addresses = append(addresses, ip)
		} else if name = plainName(name); dnsName.MatchString(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	addresses, err = hostAddresses(addresses)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: commonName},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(-skew).Add(lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, // CA:FALSE: the key vouches for this gateway and for nothing else
		DNSNames:              names,
		IPAddresses:           addresses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// parseLeaf reads the certificate of a PEM file, nil if there is none or it is damaged: the key can always make another.
func parseLeaf(stored []byte) *x509.Certificate {
	block, _ := pem.Decode(stored)
	if block == nil || block.Type != certificateBlock {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return leaf
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// dnsName is what may stand in a certificate as a name. A host can be called anything, "(none)" too.
var dnsName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$`)

func plainName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// isFor reports whether a certificate is valid for a name or an address; it returns true for a name that no certificate can have.
func isFor(leaf *x509.Certificate, name string) bool {
	if ip := net.ParseIP(name); ip != nil {
		return slices.ContainsFunc(leaf.IPAddresses, ip.Equal)
	}
	name = plainName(name)
	return !dnsName.MatchString(name) || slices.Contains(leaf.DNSNames, name)
}

// hostNames lists localhost, the host's name, its first label and its full name.
func hostNames() []string {
	names := []string{"localhost"}
	add := func(name string) {
		name = plainName(name)
		if dnsName.MatchString(name) && net.ParseIP(name) == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return names
	}
	add(host)
	label, _, _ := strings.Cut(host, ".")
	add(label)
	// The canonical name, from /etc/hosts or from a name server, is what `hostname -f` prints.
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	if full, err := net.DefaultResolver.LookupCNAME(ctx, host); err == nil {
		add(full)
	}
	return names
}

// hostAddresses lists the loopback addresses, more, and those of all the host's interfaces.
func hostAddresses(more []net.IP) ([]net.IP, error) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("listing the host's addresses: %w", err)
	}
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, ip := range more {
		if !slices.ContainsFunc(addresses, ip.Equal) {
			addresses = append(addresses, ip)
		}
	}
	for _, a := range found {
		network, ok := a.(*net.IPNet)
		if !ok || len(addresses) == maxAddresses || slices.ContainsFunc(addresses, network.IP.Equal) {
			continue
		}
		addresses = append(addresses, network.IP)
	}
	return addresses, nil
}
