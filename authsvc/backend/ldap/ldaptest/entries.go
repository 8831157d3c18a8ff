package ldaptest

// Names in the directory.
const (
	BaseDN   = "dc=example,dc=test"
	PeopleDN = "ou=people," + BaseDN
	PolicyDN = "cn=policy," + BaseDN
	HermitDN = "uid=hermit," + PeopleDN // may not read its own entry

	// ServiceDN may read every entry.
	ServiceDN       = "cn=reader," + BaseDN
	ServicePassword = "reader's password"

	// AdminPassword is the password of cn=admin,BaseDN, who may do anything.
	AdminPassword = "admin's password"
)

// Password returns the password of a user of Entries.
func Password(uid string) string { return uid + "'s password" }

// AliceUUID is alice's entryUUID.
const AliceUUID = "a11ce000-0000-4000-8000-000000000001"

// Entries is the content of every directory, in LDIF: below PeopleDN
//
//   - alice, staff, with the address Alice@Example.test,
//   - bob, not staff, with two addresses,
//   - carol, with no address,
//   - twin, twice (once below ou=former), with different passwords: each is Password of its cn,
//   - locked, whose account is locked by the password policy,
//   - nopassword, who has none,
//   - zoë; "smith, j+r", whose name needs escaping; "*", who is called so,
//   - hermit, who may not read the own entry.
const Entries = `dn: ` + BaseDN + `
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ` + PolicyDN + `
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdLockout: TRUE

dn: ` + ServiceDN + `
objectClass: applicationProcess
objectClass: simpleSecurityObject
cn: reader
userPassword: ` + ServicePassword + `

dn: ` + PeopleDN + `
objectClass: organizationalUnit
ou: people

dn: ou=former,` + PeopleDN + `
objectClass: organizationalUnit
ou: former

dn: uid=alice,` + PeopleDN + `
objectClass: inetOrgPerson
uid: alice
cn: Alice
sn: A
mail: Alice@Example.test
employeeType: staff
userPassword: alice's password
entryUUID: ` + AliceUUID + `

dn: uid=bob,` + PeopleDN + `
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: B
mail: robert@example.test
mail: Bob@example.test
employeeType: guest
userPassword: bob's password

dn: uid=carol,` + PeopleDN + `
objectClass: inetOrgPerson
uid: carol
cn: Carol
sn: C
userPassword: carol's password

dn: uid=twin,` + PeopleDN + `
objectClass: inetOrgPerson
uid: twin
cn: twin1
sn: T
mail: twin1@example.test
userPassword: twin1's password

dn: uid=twin,ou=former,` + PeopleDN + `
objectClass: inetOrgPerson
uid: twin
cn: twin2
sn: T
mail: twin2@example.test
userPassword: twin2's password

dn: uid=locked,` + PeopleDN + `
objectClass: inetOrgPerson
uid: locked
cn: Locked
sn: L
mail: locked@example.test
userPassword: locked's password
pwdAccountLockedTime: 000001010000Z

dn: uid=nopassword,` + PeopleDN + `
objectClass: inetOrgPerson
uid: nopassword
cn: No Password
sn: N
mail: nopassword@example.test

dn:: dWlkPXpvw6ssb3U9cGVvcGxlLGRjPWV4YW1wbGUsZGM9dGVzdA==
objectClass: inetOrgPerson
uid:: em/Dqw==
cn: Zoe
sn: Z
mail: zoe@example.test
userPassword:: em/DqydzIHBhc3N3b3Jk

dn: uid=smith\, j\+r,` + PeopleDN + `
objectClass: inetOrgPerson
uid: smith, j+r
cn: Smith
sn: S
mail: smith@example.test
userPassword: smith, j+r's password

dn: uid=*,` + PeopleDN + `
objectClass: inetOrgPerson
uid: *
cn: Star
sn: S
mail: star@example.test
userPassword: *'s password

dn: ` + HermitDN + `
objectClass: inetOrgPerson
uid: hermit
cn: Hermit
sn: H
mail: hermit@example.test
userPassword: hermit's password
`
