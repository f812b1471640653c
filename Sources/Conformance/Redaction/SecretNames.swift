/// Which headers and members hold secrets, by their names; the kind is what placeholders say.
///
/// A name stands here because a service or a store calls a credential so, or because backends do.
/// What only one backend calls so is declared: see `SecretDeclaration`.
package enum SecretNames {
    /// Where a name stands.
    package enum Place: Hashable, Sendable {
        case headers
        /// Of JSON, XML and tables, whatever stands below.
        case members
        /// Of JSON, where a single text stands below.
        case leaves
        /// Of queries and forms.
        case parameters
    }

    /// Every kind that a placeholder may name.
    package static let kinds: Set<String> = [
        "account", "address", "authorization", "body", "card", "cookie", "device", "email", "key",
        "masked", "password", "person", "phone", "receipt", "secret", "signature", "token",
    ]

    /// The kinds that give access: all but what describes a person, a device or a place.
    static let credentials: Set<String> = [
        "authorization", "cookie", "key", "password", "receipt", "secret", "signature", "token",
    ]

    /// Whether an environment variable holds a credential by the end of its name: `STRIPE_KEY`.
    static func isVariableOfKey(_ name: String) -> Bool {
        name.hasSuffix("_KEY") || name.hasSuffix("_PASS")
    }

    /// Headers whose value is a credential, proves one, or says where a person is.
    private static let headers = table([
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

    /// Parameters of queries and forms whose value is a credential; as members of JSON they mean
    /// something else: `code` is the number of an error there.
    private static let parameters = table([
        "token": ["code", "ticket", "relaystate", "magic"], "key": ["key"],
    ])

    /// Members that hold a credential where they hold a text; with members of their own they are
    /// something else.
    private static let leaves = table([
        "token": ["auth", "bearer", "session", "sess"], "password": ["pass"],
        "cookie": ["cookie", "cookies"],
    ])

    /// Members and parameters by their names, without case and punctuation: RevenueCat's device
    /// attributes (`$email`, `$idfa`), Firebase's tokens, stores' receipts, and what backends call
    /// theirs.
    private static let members = table([
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

    /// Backends name theirs `claimToken`, `client_secret`, `oldPassword`, `user[email]`, and
    /// headers `X-Csrf-Token`; the first ending that fits says the kind.
    private static let endings: [(ending: String, kind: String)] = [
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

    private static func table(_ byKind: [String: [String]]) -> [String: String] {
        var table: [String: String] = [:]
        for (kind, names) in byKind { for name in names { table[name] = kind } }
        return table
    }

    /// Members that tell what is wrong with others, by those others' names.
    static let complaints: Set<String> = [
        "error", "errors", "fielderrors", "violations", "messages",
    ]

    /// Without case and punctuation, as the tables hold names.
    package static func normal(_ name: String) -> String {
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

    /// The kind of secret that a header of that normal name holds.
    package static func header(_ normal: String) -> String? {
        if let kind = headers[normal] ?? ending(of: normal) { return kind }
        guard normal.hasPrefix("x") else { return nil }
        let own = String(normal.dropFirst())
        return members[own] ?? leaves[own] ?? parameters[own]
    }

    /// The kind of secret that a member or a parameter of that normal name holds.
    package static func member(_ normal: String) -> String? {
        members[normal] ?? ending(of: normal)
    }

    /// The kind by a normal name, wherever it stands.
    package static func kind(of normal: String, in place: Place) -> String? {
        switch place {
        case .headers: header(normal)
        case .members: member(normal)
        case .leaves: leaves[normal] ?? member(normal)
        case .parameters: parameters[normal] ?? leaves[normal] ?? member(normal)
        }
    }

    private static func ending(of normal: String) -> String? {
        endings.first { normal.hasSuffix($0.ending) }?.kind
    }
}
