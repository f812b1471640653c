/// Which headers and members hold secrets, by their names; the kind is what placeholders say.
package enum SecretNames {
    /// Headers whose value is a credential or proves one.
    private static let headers: [String: String] = [
        "authorization": "authorization", "proxyauthorization": "authorization",
        "cookie": "cookie", "setcookie": "cookie", "xapikey": "key", "xgoogapikey": "key",
        "xauthtoken": "token", "xcsrftoken": "token", "xaccesstoken": "token",
        "xrevenuecatwebhooksignature": "signature", "xpurchaselyrequestsignature": "signature",
        "xpurchaselysignature": "signature", "xfirebaseappcheck": "token",
        "xforwardedfor": "address", "xrealip": "address",
    ]

    /// Members and parameters by their names, without case and punctuation: RevenueCat's device
    /// attributes (`$email`, `$idfa`), Firebase's tokens, stores' receipts, and what backends call
    /// theirs.
    private static let members: [String: String] = {
        let byKind: [String: [String]] = [
            "password": ["password", "newpassword", "oldpassword", "passwordhash", "passwd"],
            "token": [
                "token", "idtoken", "accesstoken", "refreshtoken", "sessioncookie", "customtoken",
                "devicetoken", "pushtoken", "fcmtoken", "apnstoken", "apnstokens", "fcmtokens",
                "jwt", "oobcode", "ooblink", "sessiontoken", "authtoken", "proof",
                "identifiertoken",
            ],
            "key": ["apikey", "appkey", "secret", "clientsecret", "privatekey", "signingkey"],
            "receipt": ["fetchtoken", "purchasetoken", "receipt", "receiptdata", "latestreceipt"],
            "signature": ["signature", "sig"],
            "authorization": ["authorization"],
            "email": ["email", "emailaddress", "mail"],
            "phone": ["phone", "phonenumber"],
            "device": [
                "deviceid", "installid", "installationid", "idfa", "idfv", "gpsadid", "androidid",
                "advertisingid", "vendorid",
            ],
            "address": ["ip", "ipaddress"],
        ]
        var table: [String: String] = [:]
        for (kind, names) in byKind { for name in names { table[name] = kind } }
        return table
    }()

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
    package static func header(_ normal: String) -> String? { headers[normal] }

    /// Backends name theirs `claimToken`, `client_secret`, `oldPassword`.
    package static func member(_ normal: String) -> String? {
        if let kind = members[normal] { return kind }
        let endings = [
            ("token", "token"), ("tokens", "token"), ("secret", "key"), ("password", "password"),
            ("apikey", "key"), ("email", "email"), ("deviceid", "device"),
            ("signature", "signature"),
        ]
        return endings.first { normal.hasSuffix($0.0) }?.1
    }
}

extension JSONValue {
    /// The value for people: what stands under a secret's name is left out.
    package var withoutSecrets: JSONValue {
        switch self {
        case .object(let object):
            .object(
                JSONObject(
                    members: object.members.map { member in
                        let kind = SecretNames.member(SecretNames.normal(member.key))
                        let value: JSONValue =
                            kind.map { .string("‹\($0)›") } ?? member.value.withoutSecrets
                        return .init(key: member.key, value: value)
                    }
                )
            )
        case .array(let elements): .array(elements.map(\.withoutSecrets))
        case .null, .bool, .number, .string: self
        }
    }
}
