/// The names of headers, members and parameters that contain secrets, each with the kind of secret
/// that a mark shows.
///
/// A name is listed when a service, a store or many backends use it for a credential. A name that
/// only one backend uses is declared in the profile instead: see `SecretDeclaration`.
package enum SecretNames {
    /// The position of a name in a message, on which the name's meaning depends.
    package enum Position: Hashable, Sendable {
        case headers
        /// The name of a member in JSON, XML or a table, with any kind of value.
        case members
        /// The name of a JSON member whose value is a string.
        case stringMembers
        /// The name of a parameter in a query or a form.
        case parameters
    }

    /// All kinds of secrets that a mark may show.
    package static let kinds: Set<String> = [
        "account", "address", "authorization", "body", "card", "cookie", "device", "email", "key",
        "masked", "password", "person", "phone", "receipt", "secret", "signature", "token",
    ]

    /// The kinds of secrets that give access to something; the other kinds describe a user, a
    /// device or an address.
    static let credentialKinds: Set<String> = [
        "authorization", "cookie", "key", "password", "receipt", "secret", "signature", "token",
    ]

    /// Whether an environment variable of that name contains a credential, because its name ends
    /// like `STRIPE_KEY`.
    static func isKeyVariable(_ name: String) -> Bool {
        name.hasSuffix("_KEY") || name.hasSuffix("_PASS")
    }

    /// The names of headers whose value is secret, by kind of secret: a credential, a proof made
    /// with a credential (such as a signature), or a user's IP address.
    private static let headers = kindsByName([
        "authorization": ["proxyauthorization", "authenticationinfo"],
        "cookie": ["cookie", "setcookie", "setcookie2"],
        "key": [
            "xgoogapikey", "xadminkey", "xfunctionskey", "ocpapimsubscriptionkey", "xsecret",
            "xsharedsecret", "xkey",
        ],
        "token": [
            "xgoogiamauthorizationtoken", "xfirebaseappcheck", "xamznoidcidentity",
            "xamznoidcdata", "dpop",
        ],
        "address": [
            "forwarded", "cfconnectingip", "cfconnectingipv6", "trueclientip", "fastlyclientip",
            "xclusterclientip", "xoriginalforwardedfor", "xappengineuserip",
            "xenvoyexternaladdress",
        ],
        "signature": [
            "xhubsignature256", "xhubsignature", "xshopifyhmacsha256", "xsignaturesha256",
            "xsignatureed25519",
        ],
        "email": ["xforwardeduser", "xremoteuser"],
    ])

    /// The names of query and form parameters whose value is a credential, by kind.
    ///
    /// As JSON members, these names mean something else: `code` is often the number of an error.
    private static let parameters = kindsByName([
        "token": ["code", "ticket", "relaystate", "magic"], "key": ["key"],
    ])

    /// The names of members whose value is a credential when it is a string, but not when it is an
    /// object, by kind.
    private static let stringMembers = kindsByName([
        "token": ["auth", "bearer", "session", "sess"], "password": ["pass"],
        "cookie": ["cookie", "cookies"],
    ])

    /// The names of members and parameters that contain secrets, in lower case and without
    /// punctuation, by kind.
    ///
    /// The list contains RevenueCat's device attributes (`$email`, `$idfa`), Firebase's tokens, the
    /// receipts of stores, and common names in backends.
    private static let members = kindsByName([
        "password": [
            "passwordhash", "pw", "otp", "otpcode", "totp", "pin", "pincode", "onetimecode",
            "verificationcode", "activationcode", "mfacode", "smscode", "securitycode", "cvv",
            "cvc", "cvv2", "securityanswer", "recoverycode", "recoverycodes", "backupcode",
            "backupcodes", "dbpass", "userpass", "kennwort", "passwort", "contrasena",
            "motdepasse",
        ],
        "token": [
            "sessioncookie", "oobcode", "ooblink", "proof", "authorizationcode", "codeverifier",
            "sid", "sessid", "jsessionid", "phpsessid", "connectsid", "refresh", "sessioninfo",
            "authcode", "magiclink", "resetlink", "resetcode", "invitecode",
            "mfapendingcredential", "nonce", "csrf", "xsrf", "samlresponse", "devicecode",
            "registrationid", "registrationids",
        ],
        "key": [
            "appkey", "serverkey", "serviceaccount", "adminkey", "sharedkey", "accountkey",
            "hmackey", "mnemonic", "seedphrase", "connectionstring", "databaseurl", "dsn",
            "accesskeyid", "licensekey",
        ],
        "receipt": [
            "receiptdata", "latestreceipt", "signedpayload", "signedtransactioninfo",
            "signedrenewalinfo", "jwsrepresentation",
        ],
        "card": ["cardno", "ccnumber", "creditcard", "pan"],
        "account": [
            "accountnumber", "iban", "ssn", "socialsecuritynumber", "taxid", "passportnumber",
            "nationalid",
        ],
        "person": ["displayname", "dateofbirth", "birthdate", "birthday", "dob"],
        "signature": ["sig", "hmac"],
        "email": ["mail", "mailaddress"],
        "phone": ["mobile", "msisdn", "telephone", "tel", "cell", "cellphone", "whatsapp"],
        "device": [
            "installid", "installationid", "idfa", "idfv", "gaid", "gpsadid", "androidid",
            "amazonadid", "advertisingid", "vendorid", "imei", "imsi", "iccid", "serialnumber",
            "macaddress", "udid", "gcmid", "deviceuuid", "deviceidentifier",
        ],
        "address": [
            "ip", "ipaddr", "remoteaddr", "remoteip", "userip", "lastip", "signupip", "loginip",
            "sourceip", "peerip", "originip", "realip", "xff", "xforwardedfor", "ipv4", "ipv6",
        ],
    ])

    /// The endings of names that contain secrets; the first matching ending determines the kind of
    /// secret.
    ///
    /// Examples of such names are `claimToken`, `client_secret`, `oldPassword`, `user[email]` and
    /// the header `X-Csrf-Token`.
    private static let kindsByNameEnding: [(ending: String, kind: String)] = [
        ("fetchtoken", "receipt"), ("purchasetoken", "receipt"), ("tokens", "token"),
        ("token", "token"), ("sessionid", "token"), ("sessionkey", "token"), ("jwt", "token"),
        ("assertion", "token"), ("credentials", "secret"), ("credential", "secret"),
        ("secrets", "key"), ("secret", "key"), ("passwordconfirmation", "password"),
        ("passwords", "password"), ("password", "password"), ("passwd", "password"),
        ("pwd", "password"), ("passphrase", "password"), ("passcode", "password"),
        ("apikeys", "key"), ("apikey", "key"), ("secretkey", "key"), ("signingkey", "key"),
        ("encryptionkey", "key"), ("authkey", "key"), ("masterkey", "key"), ("accesskey", "key"),
        ("privatekey", "key"), ("emailaddress", "email"), ("email", "email"),
        ("deviceid", "device"), ("hmacsha256", "signature"), ("signature", "signature"),
        ("receipt", "receipt"), ("cardnumber", "card"), ("ipaddress", "address"),
        ("clientip", "address"), ("mobilenumber", "phone"), ("phonenumber", "phone"),
        ("phone", "phone"), ("authorization", "authorization"),
    ]

    private static func kindsByName(_ namesByKind: [String: [String]]) -> [String: String] {
        var kindsByName: [String: String] = [:]
        for (kind, names) in namesByKind { for name in names { kindsByName[name] = kind } }
        return kindsByName
    }

    /// The names of members, such as `errors`, that describe errors in other members and contain
    /// the names of those members.
    static let errorMemberNames: Set<String> = [
        "error", "errors", "fielderrors", "violations", "messages",
    ]

    /// Returns a name in the form that the tables use: in lower case and without punctuation.
    package static func normalizedName(_ name: String) -> String {
        String(
            decoding: name.utf8.compactMap { byte -> UInt8? in
                switch byte {
                case 65...90: byte + 32
                case 48...57, 97...122: byte
                default: nil
                }
            },
            as: UTF8.self
        )
    }

    /// Returns the kind of secret in a header of that normalized name; nil when it contains none.
    package static func header(_ normalizedName: String) -> String? {
        if let kind = headers[normalizedName] ?? ending(of: normalizedName) { return kind }
        guard normalizedName.hasPrefix("x") else { return nil }
        let nameWithoutFirstLetter = String(normalizedName.dropFirst())
        return members[nameWithoutFirstLetter] ?? stringMembers[nameWithoutFirstLetter]
            ?? parameters[nameWithoutFirstLetter]
    }

    /// Returns the kind of secret in a member or a parameter of that normalized name; nil when it
    /// contains none.
    package static func member(_ normalizedName: String) -> String? {
        members[normalizedName] ?? ending(of: normalizedName)
    }

    /// Returns the kind of secret that a normalized name indicates in that position of a message;
    /// nil when it indicates none.
    package static func kind(of normalizedName: String, in position: Position) -> String? {
        switch position {
        case .headers: header(normalizedName)
        case .members: member(normalizedName)
        case .stringMembers: stringMembers[normalizedName] ?? member(normalizedName)
        case .parameters:
            parameters[normalizedName] ?? stringMembers[normalizedName] ?? member(normalizedName)
        }
    }

    private static func ending(of normalizedName: String) -> String? {
        kindsByNameEnding.first { normalizedName.hasSuffix($0.ending) }?.kind
    }
}
