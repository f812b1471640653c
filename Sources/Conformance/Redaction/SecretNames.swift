/// Which headers and members hold secrets, by their names; the kind is what placeholders say.
///
/// A name stands here because a service or a store calls a credential so, or because backends do.
/// What only one backend calls so is declared: see `SecretDeclaration`.
package enum SecretNames {
    /// Where a name stands.
    package enum Place: Hashable, Sendable { case headers, members, parameters }

    /// Every kind that a placeholder may name.
    package static let kinds: Set<String> = [
        "account", "address", "authorization", "body", "card", "cookie", "device", "email", "key",
        "masked", "password", "phone", "receipt", "secret", "signature", "token",
    ]

    /// Headers whose value is a credential, proves one, or says where a person is.
    private static let headers: [String: String] = [
        "proxyauthorization": "authorization", "cookie": "cookie", "setcookie": "cookie",
        "xgoogapikey": "key", "xgoogiamauthorizationtoken": "token",
        "xfirebaseappcheck": "token", "xforwardedfor": "address", "xrealip": "address",
        "forwarded": "address", "cfconnectingip": "address", "cfconnectingipv6": "address",
        "trueclientip": "address", "fastlyclientip": "address", "xclientip": "address",
        "xclusterclientip": "address", "xoriginalforwardedfor": "address",
        "xappengineuserip": "address",
        "xforwardeduser": "email", "xremoteuser": "email", "xamznoidcidentity": "token",
        "xamznoidcdata": "token", "dpop": "token", "xhubsignature256": "signature",
        "xhubsignature": "signature", "xshopifyhmacsha256": "signature", "xhmac": "signature",
        "xsignaturesha256": "signature", "xsignatureed25519": "signature",
        "xadminkey": "key", "xauthkey": "key", "xmasterkey": "key", "xfunctionskey": "key",
        "ocpapimsubscriptionkey": "key", "xsecret": "key", "xsharedsecret": "key", "xauth": "key",
        "xsession": "token", "xsid": "token",
    ]

    /// Parameters of queries and forms whose value is a credential; as members of JSON they mean
    /// something else: `code` is the number of an error there.
    private static let parameters: [String: String] = [
        "code": "token", "key": "key", "ticket": "token", "samlresponse": "token",
        "pass": "password",
        "session": "token", "auth": "token", "relaystate": "token",
    ]

    /// Members and parameters by their names, without case and punctuation: RevenueCat's device
    /// attributes (`$email`, `$idfa`), Firebase's tokens, stores' receipts, and what backends call
    /// theirs.
    private static let members: [String: String] = {
        let byKind: [String: [String]] = [
            "password": [
                "passwordhash", "passwd", "pwd", "passcode", "passphrase", "otp", "totp", "pin",
                "onetimecode", "verificationcode", "mfacode", "smscode", "securitycode", "cvv",
                "cvc",
                "cvv2", "pw", "securityanswer", "recoverycode", "recoverycodes", "backupcodes",
            ],
            "secret": ["credential", "credentials"],
            "token": [
                "sessioncookie", "jwt", "oobcode", "ooblink", "proof", "authorizationcode",
                "codeverifier", "assertion", "clientassertion", "sid", "jsessionid",
                "phpsessid", "connectsid", "refresh", "sessioninfo", "authcode",
                "magiclink", "resetlink", "resetcode", "invitecode", "mfapendingcredential",
                "bearertoken",
                "nonce", "csrf", "xsrf", "samlresponse", "devicecode",
            ],
            "key": [
                "appkey", "secretkey", "signingkey", "serverkey", "authkey", "encryptionkey",
                "serviceaccount", "restapikey", "masterkey", "adminkey", "sharedkey", "accountkey",
                "apisecret", "hmackey", "webhooksecret", "mnemonic", "connectionstring",
                "databaseurl", "dsn", "sastoken",
            ],
            "receipt": [
                "receiptdata", "fetchtoken", "purchasetoken", "latestreceipt", "signedpayload",
                "signedtransactioninfo", "signedrenewalinfo", "jwsrepresentation",
            ],
            "card": ["cardnumber", "cardno", "ccnumber", "creditcard"],
            "account": [
                "accountnumber", "iban", "ssn", "socialsecuritynumber", "taxid", "passportnumber",
                "nationalid",
            ],
            "signature": ["sig", "hmac", "digestsignature"],
            "email": ["emailaddress", "mail", "mailaddress"],
            "phone": ["mobile", "mobilenumber", "msisdn", "telephone", "tel"],
            "device": [
                "installid", "installationid", "idfa", "idfv", "gpsadid", "androidid",
                "amazonadid", "advertisingid", "vendorid", "imei", "imsi", "iccid", "serialnumber",
                "macaddress", "udid", "fcmtoken", "gcmid", "deviceuuid", "deviceidentifier",
            ],
            "address": [
                "ip", "ipaddr", "clientip", "remoteaddr", "remoteip", "userip", "lastip",
                "signupip", "loginip", "sourceip", "peerip", "originip", "realip", "xff", "ipv4",
                "ipv6",
            ],
        ]
        var table: [String: String] = [:]
        for (kind, names) in byKind { for name in names { table[name] = kind } }
        return table
    }()

    /// Backends name theirs `claimToken`, `client_secret`, `oldPassword`, `user[email]`, and
    /// headers `X-Csrf-Token`; the first ending that fits says the kind.
    private static let endings: [(ending: String, kind: String)] = [
        ("pushtoken", "token"), ("sessionid", "token"), ("sessionkey", "token"), ("jwt", "token"),
        ("assertion", "token"), ("credential", "secret"), ("credentials", "secret"),
        ("passwd", "password"),
        ("pwd", "password"), ("passphrase", "password"), ("passcode", "password"),
        ("secretkey", "key"),
        ("signingkey", "key"), ("encryptionkey", "key"), ("authkey", "key"), ("masterkey", "key"),
        ("ipaddress", "address"), ("clientip", "address"), ("mobilenumber", "phone"),
        ("cardnumber", "card"), ("emailaddress", "email"), ("hmacsha256", "signature"),
        ("token", "token"), ("tokens", "token"), ("secret", "key"), ("password", "password"),
        ("apikey", "key"), ("accesskey", "key"), ("privatekey", "key"), ("email", "email"),
        ("deviceid", "device"), ("signature", "signature"), ("receipt", "receipt"),
        ("phone", "phone"), ("phonenumber", "phone"), ("authorization", "authorization"),
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
        headers[normal] ?? ending(of: normal)
    }

    /// The kind of secret that a member or a parameter of that normal name holds.
    package static func member(_ normal: String) -> String? {
        members[normal] ?? ending(of: normal)
    }

    /// The kind of secret that a parameter of that normal name holds.
    package static func parameter(_ normal: String) -> String? {
        parameters[normal] ?? member(normal)
    }

    /// The kind by a normal name, wherever it stands.
    package static func kind(of normal: String, in place: Place) -> String? {
        switch place {
        case .headers: header(normal)
        case .members: member(normal)
        case .parameters: parameter(normal)
        }
    }

    private static func ending(of normal: String) -> String? {
        endings.first { normal.hasSuffix($0.ending) }?.kind
    }
}
