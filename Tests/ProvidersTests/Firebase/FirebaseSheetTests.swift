import Grammar
import Providers
import Testing
import Values

/// Requests to the fake Firebase, as an app and as an administrator make them.
private struct FirebaseClient {
    static let root = "/identitytoolkit.googleapis.com/v1"

    var talk: ProviderClient<FirebaseState>

    init(_ change: (inout FirebaseSettings) -> Void = { _ in }) {
        var settings = FirebaseSettings()
        change(&settings)
        talk = ProviderClient(FirebaseState(settings: settings))
    }

    mutating func user(_ operation: String, _ body: JSONValue) -> ProviderResponse {
        talk.say("POST", "\(Self.root)/accounts:\(operation)?key=k", body)
    }

    mutating func admin(_ operation: String, _ body: JSONValue) -> ProviderResponse {
        let path = operation.isEmpty ? "accounts" : "accounts:" + operation
        return talk.say(
            "POST",
            "\(Self.root)/projects/demo-project/\(path)",
            body,
            [HTTPMessage.Field("Authorization", "Bearer owner")]
        )
    }

    /// The user every table begins with: ada, with a password.
    mutating func addAda() -> (id: String, token: String, refresh: String) {
        let said = user("signUp", ["email": "Ada@Example.com", "password": "secret1"])
        return (
            said["/localId"]?.string ?? "", said["/idToken"]?.string ?? "",
            said["/refreshToken"]?.string ?? ""
        )
    }

    mutating func refresh(_ form: String) -> ProviderResponse {
        talk.post("/securetoken.googleapis.com/v1/token?key=k", form: form)
    }
}

extension ProviderResponse {
    /// The code in front of ` : `.
    fileprivate var code: String? {
        self["/error/message"]?.string?.split(separator: " : ").first.map(String.init)
    }
}

/// The statements of the Firebase fact sheet that the fake serves, by section.
@Suite("Firebase fact sheet")
struct FirebaseSheetTests {
    // MARK: 2 · Callers and envelopes

    private static let callers: [(authorization: String?, key: String, Int)] = [
        ("Bearer owner", "", 200), ("bearer OWNER", "", 200), ("Bearer ya29.abc", "", 200),
        ("Bearer YA29.abc", "", 401), ("Bearer nobody", "", 401), ("Bearer nobody", "?key=k", 401),
        ("Basic b3duZXI=", "?key=k", 200), (nil, "?key=k", 200), (nil, "", 403),
        (nil, "?key=", 403), ("Basic x", "", 403),
    ]

    @Test("2.1: credentials and API key decide whether a call is accepted", arguments: callers)
    func caller(authorization: String?, key: String, status: Int) {
        var auth = FirebaseClient()
        let said = auth.talk.say(
            "POST",
            "\(FirebaseClient.root)/accounts:signUp\(key)",
            ["email": "a@b.c", "password": "secret1"],
            authorization.map { [HTTPMessage.Field("Authorization", $0)] } ?? []
        )
        #expect(said.status == status)
        if status != 200 { #expect(said["/error/code"] == .integer(Int64(status))) }
        let isAdmin = authorization?.lowercased().hasPrefix("bearer") == true
        if status == 200 { #expect((said["/idToken"] == nil) == isAdmin, "section 4.1") }
    }

    @Test("2.1: the API key is accepted in a header")
    func keyHeader() {
        var auth = FirebaseClient()
        let said = auth.talk.say(
            "POST",
            "\(FirebaseClient.root)/accounts:signUp",
            [:],
            [HTTPMessage.Field("X-Goog-Api-Key", "any")]
        )
        #expect(said.status == 200)
    }

    @Test("2.1: an app may not name a project")
    func targetProject() {
        var auth = FirebaseClient()
        let said = auth.user("signUp", ["targetProjectId": "other"])
        #expect(said.status == 400 && said.code == "INSUFFICIENT_PERMISSION")
        let path = auth.talk.say(
            "POST",
            "\(FirebaseClient.root)/projects/p/accounts:lookup?key=k",
            [:]
        )
        #expect(path.code == "INSUFFICIENT_PERMISSION")
    }

    @Test(
        "1.1: legacy paths are the same operations",
        arguments: [
            ("signupNewUser", "identitytoolkit#SignupNewUserResponse"),
            ("verifyPassword", "identitytoolkit#VerifyPasswordResponse"),
            ("getAccountInfo", "identitytoolkit#GetAccountInfoResponse"),
            ("setAccountInfo", "identitytoolkit#SetAccountInfoResponse"),
            ("getOobConfirmationCode", "identitytoolkit#GetOobConfirmationCodeResponse"),
            ("createAuthUri", "identitytoolkit#CreateAuthUriResponse"),
            ("deleteAccount", "identitytoolkit#DeleteAccountResponse"),
        ]
    )
    func legacy(name: String, kind: String) {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        var body: JSONObject = [
            "idToken": .string(ada.token), "requestType": "PASSWORD_RESET",
            "identifier": "ada@example.com", "continueUri": "http://localhost",
            "email": "ada@example.com", "password": "secret1",
        ]
        if name == "signupNewUser" { body = [:] }
        if name == "setAccountInfo" { body["email"] = nil }
        // A sign-in by password links nothing.
        if name == "verifyPassword" { body["idToken"] = nil }
        let said = auth.talk.say(
            "POST",
            "/www.googleapis.com/identitytoolkit/v3/relyingparty/\(name)?key=k",
            .object(body)
        )
        #expect(said.status == 200)
        #expect(said["/kind"]?.string == kind)
    }

    @Test("2.2: origins are reflected, on errors too")
    func origins() {
        var auth = FirebaseClient()
        let fields = [
            HTTPMessage.Field("Origin", "http://localhost:5173"),
            HTTPMessage.Field("Access-Control-Request-Headers", "X-A,X-B"),
        ]
        let preflight = auth.talk.say("OPTIONS", "/anything", nil, fields)
        #expect(preflight.status == 204 && preflight.text.isEmpty)
        #expect(preflight[field: "Access-Control-Allow-Headers"] == "X-A,X-B")
        let error = auth.talk.say("POST", "/nowhere", [:], fields)
        #expect(error.status == 404)
        for said in [preflight, error] {
            #expect(said[field: "Access-Control-Allow-Origin"] == "http://localhost:5173")
            #expect(said[field: "Access-Control-Allow-Credentials"] == nil)
        }
    }

    @Test("2.3: keys in either case, numbers as texts, enums as numbers")
    func bodies() {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        let snake = auth.user("update", ["id_token": .string(ada.token), "display_name": "Ada"])
        #expect(snake["/displayName"] == "Ada")
        let number = auth.user("update", ["idToken": .string(ada.token), "displayName": 7])
        #expect(number["/displayName"] == "7")
        let reset = auth.user("sendOobCode", ["requestType": 1, "email": "ada@example.com"])
        #expect(reset.status == 200 && reset["/email"] == "ada@example.com")
        let unknown = auth.user("signUp", ["somethingNew": true])
        #expect(unknown.status == 200, "unknown fields are ignored by the emulator")
        var strict = FirebaseClient { $0.refusesUnknownFields = true }
        #expect(strict.user("signUp", ["somethingNew": true]).status == 400)
    }

    @Test("2.3, 2.4: what has no value is left out, and an error has one envelope")
    func envelope() {
        var auth = FirebaseClient()
        let said = auth.user("signUp", [:])
        let members = said.json.object?.members ?? []
        #expect(members.allSatisfy { !$0.value.isNull && $0.value != "" })
        #expect(said["/expiresIn"] == "3600", "int64 are texts")
        let error = auth.user("signInWithPassword", ["email": "x"])
        #expect(error["/error/code"] == 400)
        #expect(error["/error/message"] == "INVALID_EMAIL")
        #expect(
            error["/error/errors"]
                == [["message": "INVALID_EMAIL", "reason": "invalid", "domain": "global"]]
        )
        #expect(error["/error/status"] == nil, "ordinary errors have none")
        let broken = auth.talk.state.respond(
            to: HTTPMessage.Request(
                "POST",
                "\(FirebaseClient.root)/accounts:signUp?key=k",
                body: Array("{".utf8)
            ),
            at: auth.talk.now
        )
        let malformed = ProviderResponse(reply: broken)
        #expect(malformed["/error/status"] == "INVALID_ARGUMENT")
        #expect(malformed["/error/errors/0/reason"] == "parseError")
    }

    // MARK: 4.1 · signUp

    private static let signUps: [(JSONValue, isAdmin: Bool, String?)] = [
        ([:], false, nil), (["email": "b@c.d", "password": "secret1"], false, nil),
        (["localId": "x"], false, "UNEXPECTED_PARAMETER"),
        (["password": "secret1"], false, "MISSING_EMAIL"),
        (["email": "b@c.d"], false, "MISSING_PASSWORD"),
        (["email": "", "password": ""], false, "INVALID_EMAIL"),
        (["email": "no-address", "password": "secret1"], false, "INVALID_EMAIL"),
        (["email": "ADA@example.com", "password": "secret1"], false, "EMAIL_EXISTS"),
        (["email": "ada@example.com", "password": "short"], false, "EMAIL_EXISTS"),
        (["email": "b@c.d", "password": "short"], false, "WEAK_PASSWORD"),
        (["localId": "x"], true, nil), (["phoneNumber": "123"], true, "INVALID_PHONE_NUMBER"),
        (["email": "b@c.d", "password": "short"], true, "WEAK_PASSWORD"),
        (["email": "ada@example.com"], true, "EMAIL_EXISTS"), (["email": "b@c.d"], true, nil),
    ]

    @Test("4.1: what a sign-up needs, in this order", arguments: signUps)
    func signUp(body: JSONValue, isAdmin: Bool, code: String?) {
        var auth = FirebaseClient()
        _ = auth.addAda()
        let said = isAdmin ? auth.admin("", body) : auth.user("signUp", body)
        #expect(said.code == code)
        #expect(said.status == (code == nil ? 200 : 400))
        #expect(auth.talk.state.userCount == (code == nil ? 2 : 1), "a refusal makes nobody")
    }

    @Test("4.1: an administrator's duplicate id or phone number is refused")
    func duplicates() {
        var auth = FirebaseClient()
        #expect(auth.admin("", ["localId": "x", "phoneNumber": "+491"]).status == 200)
        #expect(auth.admin("", ["localId": "x"]).code == "DUPLICATE_LOCAL_ID")
        #expect(auth.admin("", ["phoneNumber": "+491"]).code == "PHONE_NUMBER_EXISTS")
    }

    @Test("4.1: an anonymous user becomes a real one and stays the same")
    func linking() {
        var auth = FirebaseClient()
        let anonymous = auth.user("signUp", [:])
        let linked = auth.user(
            "signUp",
            [
                "idToken": anonymous["/idToken"] ?? .null, "email": "ada@example.com",
                "password": "secret1",
            ]
        )
        #expect(linked["/localId"] == anonymous["/localId"])
        #expect(auth.talk.state.userCount == 1)
        let token = linked["/idToken"] ?? .null
        let found = auth.user("lookup", ["idToken": token])
        #expect(found["/users/0/providerUserInfo/0/providerId"] == "password")
    }

    @Test("4.1: switches of the project")
    func switches() {
        var closed = FirebaseClient {
            $0.anonymousProvider = false
            $0.passwordProvider = false
        }
        #expect(closed.user("signUp", [:]).code == "ADMIN_ONLY_OPERATION")
        #expect(
            closed.user("signUp", ["email": "a@b.c", "password": "secret1"]).code
                == "OPERATION_NOT_ALLOWED"
        )
        #expect(
            closed.user("signInWithPassword", ["email": "a@b.c", "password": "secret1"]).code
                == "PASSWORD_LOGIN_DISABLED"
        )
    }

    // MARK: 4.2 · signInWithPassword

    private static let signIns: [(JSONValue, String?, protected: String?)] = [
        (["password": "secret1"], "MISSING_EMAIL", "MISSING_EMAIL"),
        (["email": "", "password": "secret1"], "INVALID_EMAIL", "INVALID_EMAIL"),
        (["email": "x", "password": "secret1"], "INVALID_EMAIL", "INVALID_EMAIL"),
        (["email": "ada@example.com"], "MISSING_PASSWORD", "MISSING_PASSWORD"),
        (["email": "ada@example.com", "password": ""], "MISSING_PASSWORD", "MISSING_PASSWORD"),
        (
            ["email": "no@body.x", "password": "secret1"], "EMAIL_NOT_FOUND",
            "INVALID_LOGIN_CREDENTIALS"
        ),
        (
            ["email": "ada@example.com", "password": "wrong-1"], "INVALID_PASSWORD",
            "INVALID_LOGIN_CREDENTIALS"
        ),
        (["email": "ADA@EXAMPLE.COM", "password": "secret1"], nil, nil),
    ]

    @Test("4.2: what a sign-in needs, with and without protection", arguments: signIns)
    func signIn(body: JSONValue, code: String?, protected: String?) {
        for (isProtected, expected) in [(false, code), (true, protected)] {
            var auth = FirebaseClient { $0.enumerationProtection = isProtected }
            let ada = auth.addAda()
            let said = auth.user("signInWithPassword", body)
            #expect(said.code == expected)
            if expected == nil {
                #expect(said["/localId"]?.string == ada.id && said["/registered"] == true)
            }
        }
    }

    @Test("4.2: a disabled user is reported before the password is checked")
    func disabled() {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        _ = auth.admin("update", ["localId": .string(ada.id), "disableUser": true])
        let said = auth.user(
            "signInWithPassword",
            ["email": "ada@example.com", "password": "wrong-1"]
        )
        #expect(said.code == "USER_DISABLED")
        #expect(auth.user("lookup", ["idToken": .string(ada.token)]).code == "USER_DISABLED")
        let refreshed = auth.refresh("grant_type=refresh_token&refresh_token=\(ada.refresh)")
        #expect(refreshed.code == "USER_DISABLED")
    }

    // MARK: 4 · ID tokens

    @Test("4: errors of an ID token, in this order")
    func tokens() {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        #expect(auth.user("lookup", [:]).code == "MISSING_ID_TOKEN")
        #expect(auth.user("lookup", ["idToken": "no token"]).code == "INVALID_ID_TOKEN")
        auth.talk.wait(.seconds(10))
        let since = auth.talk.now.seconds
        _ = auth.admin("update", ["localId": .string(ada.id), "validSince": .integer(since)])
        #expect(auth.user("lookup", ["idToken": .string(ada.token)]).code == "TOKEN_EXPIRED")
        _ = auth.admin("delete", ["localId": .string(ada.id)])
        #expect(auth.user("lookup", ["idToken": .string(ada.token)]).code == "USER_NOT_FOUND")
    }

    // MARK: 4.4 · Custom tokens

    private static let customTokens: [(JSONValue, String?)] = [
        ([:], "MISSING_CUSTOM_TOKEN"), (["token": ""], "MISSING_CUSTOM_TOKEN"),
        (["token": "x"], "INVALID_CUSTOM_TOKEN"), (["token": "{"], "INVALID_CUSTOM_TOKEN"),
        (["token": "{}"], "MISSING_IDENTIFIER"), (["token": #"{"uid":"u1"}"#], nil),
        (["token": #"{"user_id":"u1"}"#], nil),
        (["token": #"{"uid":"u1","claims":[]}"#], "INVALID_CLAIMS"),
        (["token": #"{"uid":"u1","claims":{"role":"x"}}"#], nil),
        (["token": #"{"uid":"u1","claims":{"sub":"x"}}"#], "FORBIDDEN_CLAIM"),
    ]

    @Test("4.4: what a custom token needs", arguments: customTokens)
    func customToken(body: JSONValue, code: String?) {
        var auth = FirebaseClient()
        let said = auth.user("signInWithCustomToken", body)
        #expect(said.code == code)
        guard code == nil else { return }
        #expect(said["/isNewUser"] == true && said["/localId"] == nil)
        #expect(auth.user("signInWithCustomToken", body)["/isNewUser"] == false)
    }

    @Test(
        "4.4: reserved claims",
        arguments: [
            "acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase",
            "iat", "iss", "jti", "nbf", "nonce", "sub",
        ]
    )
    func reserved(claim: String) {
        var auth = FirebaseClient()
        let token = JSONValue.string(#"{"uid":"u1","claims":{"\#(claim)":1}}"#)
        let said = auth.user("signInWithCustomToken", ["token": token])
        #expect(said["/error/message"]?.string == "FORBIDDEN_CLAIM : \(claim)")
        _ = auth.user("signInWithCustomToken", ["token": #"{"uid":"u1"}"#])
        let update = auth.admin(
            "update",
            ["localId": "u1", "customAttributes": .string(#"{"\#(claim)":1}"#)]
        )
        #expect(update["/error/message"]?.string == "FORBIDDEN_CLAIM : \(claim)", "4.8")
    }

    // MARK: 4.5, 4.6 · Codes

    private static let codes: [(JSONValue, isAdmin: Bool, String?)] = [
        ([:], false, "MISSING_REQ_TYPE"),
        (["requestType": "PASSWORD_RESET"], false, "MISSING_EMAIL"),
        (["requestType": "PASSWORD_RESET", "email": "no@body.x"], false, "EMAIL_NOT_FOUND"),
        (["requestType": "PASSWORD_RESET", "email": "ada@example.com"], false, nil),
        (
            ["requestType": "PASSWORD_RESET", "email": "ada@example.com", "returnOobLink": true],
            false, "INSUFFICIENT_PERMISSION"
        ),
        (
            ["requestType": "PASSWORD_RESET", "email": "ada@example.com", "continueUrl": "x"],
            false, "INVALID_CONTINUE_URI"
        ),
        (["requestType": "VERIFY_EMAIL"], false, "INVALID_ID_TOKEN"),
        (["requestType": "EMAIL_SIGNIN"], false, "MISSING_EMAIL"),
        (["requestType": "EMAIL_SIGNIN", "email": "new@body.x"], false, nil),
        (
            ["requestType": "VERIFY_EMAIL", "email": "no@body.x", "returnOobLink": true], true,
            "USER_NOT_FOUND"
        ),
        (
            ["requestType": "PASSWORD_RESET", "email": "ada@example.com", "returnOobLink": true],
            true, nil
        ),
    ]

    @Test("4.5: what a code needs", arguments: codes)
    func code(body: JSONValue, isAdmin: Bool, code: String?) {
        var auth = FirebaseClient()
        _ = auth.addAda()
        let said = isAdmin ? auth.admin("sendOobCode", body) : auth.user("sendOobCode", body)
        #expect(said.code == code)
        if code == nil { #expect((said["/oobCode"] != nil) == isAdmin) }
    }

    @Test("4.5: enumeration protection hides which email addresses are registered")
    func protectedReset() {
        var auth = FirebaseClient { $0.enumerationProtection = true }
        _ = auth.addAda()
        func reset(_ email: String) -> JSONValue {
            auth.user(
                "sendOobCode",
                ["requestType": "PASSWORD_RESET", "email": .string(email)]
            ).json
        }
        let (known, unknown) = (reset("ada@example.com"), reset("no@body.x"))
        #expect(known.object?.keys == unknown.object?.keys)
        #expect(unknown["email"] == "no@body.x")
    }

    /// An administrator's code for a new password of ada.
    private func resetCode(_ auth: inout FirebaseClient) -> JSONValue {
        auth.admin(
            "sendOobCode",
            ["requestType": "PASSWORD_RESET", "email": "ada@example.com", "returnOobLink": true]
        )["/oobCode"] ?? .null
    }

    @Test("4.6: a code is looked at, survives a weak password, and is used once")
    func resetPassword() {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        let code = resetCode(&auth)
        #expect(code.string?.count == 54)
        auth.talk.wait(.seconds(5))
        let look = auth.user("resetPassword", ["oobCode": code])
        #expect(look["/requestType"] == "PASSWORD_RESET" && look["/email"] == "ada@example.com")
        #expect(
            auth.user("resetPassword", ["oobCode": code, "newPassword": "x"]).code
                == "WEAK_PASSWORD"
        )
        let done = auth.user("resetPassword", ["oobCode": code, "newPassword": "secret2"])
        #expect(done.status == 200 && done["/idToken"] == nil)
        #expect(
            auth.user("resetPassword", ["oobCode": code, "newPassword": "secret3"]).code
                == "INVALID_OOB_CODE"
        )
        #expect(auth.user("lookup", ["idToken": .string(ada.token)]).code == "TOKEN_EXPIRED")
        let again = auth.user(
            "signInWithPassword",
            ["email": "ada@example.com", "password": "secret2"]
        )
        let token = again["/idToken"] ?? .null
        #expect(auth.user("lookup", ["idToken": token])["/users/0/emailVerified"] == true)
        #expect(auth.user("resetPassword", [:]).code == "MISSING_OOB_CODE")
        #expect(auth.user("resetPassword", ["oobCode": "none"]).code == "INVALID_OOB_CODE")
    }

    @Test(
        "4.6: production lets codes expire",
        arguments: [(3600, nil), (3601, "EXPIRED_OOB_CODE")] as [(Int, String?)]
    )
    func expiredCode(seconds: Int, expected: String?) {
        var auth = FirebaseClient { $0.actionCodeSeconds = 3600 }
        _ = auth.addAda()
        let code = resetCode(&auth)
        auth.talk.wait(.seconds(seconds))
        #expect(auth.user("resetPassword", ["oobCode": code]).code == expected)
    }

    // MARK: 4.8 · update

    private static let updates: [(JSONObject, String?, givesTokens: Bool)] = [
        (["displayName": "Ada"], nil, false), (["password": "secret2"], nil, true),
        (["email": "new@example.com"], nil, true), (["validSince": "1"], nil, true),
        (["password": "short"], "WEAK_PASSWORD", false), (["email": "x"], "INVALID_EMAIL", false),
        (["email": "bob@example.com"], "EMAIL_EXISTS", false),
        (["customAttributes": "{}"], "INSUFFICIENT_PERMISSION", false),
        (["disableUser": true], "OPERATION_NOT_ALLOWED", false),
        (["email": "ada@example.com"], nil, false),
    ]

    @Test("4.8: what a user may change, and when new tokens come", arguments: updates)
    func update(change: JSONObject, code: String?, givesTokens: Bool) {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        _ = auth.user("signUp", ["email": "bob@example.com", "password": "secret1"])
        var body = change
        body["idToken"] = .string(ada.token)
        let said = auth.user("update", .object(body))
        #expect(said.code == code)
        #expect((said["/idToken"] != nil) == givesTokens)
        if code == nil { #expect(said["/localId"]?.string == ada.id) }
    }

    private static let adminUpdates: [(JSONObject, String?)] = [
        (["displayName": "x"], nil), (["customAttributes": #"{"a":1}"#], nil),
        (["customAttributes": "{}"], nil), (["customAttributes": "[]"], "INVALID_CLAIMS"),
        (["customAttributes": "{"], "INVALID_CLAIMS"),
        (
            [
                "customAttributes": .string(
                    #"{"a":""# + String(repeating: "x", count: 1000) + #""}"#
                )
            ], "CLAIMS_TOO_LARGE"
        ),
        (["phoneNumber": "123"], "INVALID_PHONE_NUMBER"), (["phoneNumber": "+49123"], nil),
        (["emailVerified": true], nil),
    ]

    @Test("4.8: what an administrator may change", arguments: adminUpdates)
    func adminUpdate(change: JSONObject, code: String?) {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        var body = change
        body["localId"] = .string(ada.id)
        let said = auth.admin("update", .object(body))
        #expect(said.code == code)
        #expect(said["/idToken"] == nil)
    }

    @Test("4.8: an update without a valid user is refused")
    func whoIsMeant() {
        var auth = FirebaseClient()
        #expect(auth.user("update", ["displayName": "x"]).code == "INVALID_REQ_TYPE")
        #expect(auth.admin("update", ["displayName": "x"]).code == "MISSING_LOCAL_ID")
        #expect(auth.admin("update", ["localId": "none"]).code == "USER_NOT_FOUND")
    }

    // MARK: 4.9, 4.10 · lookup and delete

    @Test("4.9: a lookup without a match returns no user list")
    func lookup() {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        let none = auth.admin("lookup", ["localId": ["none"]])
        #expect(none.status == 200 && none["/users"] == nil && none["/kind"] != nil)
        let both = auth.admin(
            "lookup",
            ["localId": [.string(ada.id)], "email": ["ADA@example.com"]]
        )
        #expect(both["/users"]?.array?.count == 1, "each user once")
        #expect(both["/users/0/email"] == "ada@example.com", "stored in lower case")
    }

    @Test("4.10: a deleted user's address is free at once, and its id is not reused")
    func delete() {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        #expect(auth.user("delete", ["localId": .string(ada.id)]).code == "MISSING_ID_TOKEN")
        #expect(auth.admin("delete", [:]).code == "MISSING_LOCAL_ID")
        let said = auth.user("delete", ["idToken": .string(ada.token)])
        #expect(said.json == ["kind": "identitytoolkit#DeleteAccountResponse"])
        #expect(auth.admin("delete", ["localId": .string(ada.id)]).code == "USER_NOT_FOUND")
        #expect(auth.addAda().id != ada.id)
    }

    // MARK: 4.13 · Tokens

    @Test("4.13: what a refresh needs")
    func refresh() {
        var auth = FirebaseClient()
        let ada = auth.addAda()
        let good = "refresh_token=\(ada.refresh)"
        #expect(auth.refresh(good).code == "MISSING_GRANT_TYPE")
        #expect(auth.refresh("grant_type=password&" + good).code == "INVALID_GRANT_TYPE")
        #expect(auth.refresh("grant_type=refresh_token").code == "MISSING_REFRESH_TOKEN")
        let bad = auth.refresh("grant_type=refresh_token&refresh_token=x")
        #expect(bad.code == "INVALID_REFRESH_TOKEN")
        let said = auth.refresh("grant_type=refresh_token&" + good)
        #expect(said.status == 200)
        #expect(said["/id_token"] == said["/access_token"] && said["/id_token"] != nil)
        #expect(said["/user_id"]?.string == ada.id)
        #expect(said["/project_id"] == "12345" && said["/expires_in"] == "3600")
        #expect(said["/token_type"] == "Bearer")
        #expect(said["/idToken"] == nil, "snake case, unlike all others")
    }

    @Test("4.13: refresh tokens are revoked in production only", arguments: [true, false])
    func revoked(isProduction: Bool) {
        var auth = FirebaseClient { $0.revokesRefreshTokens = isProduction }
        let ada = auth.addAda()
        auth.talk.wait(.seconds(10))
        _ = auth.admin(
            "update",
            ["localId": .string(ada.id), "validSince": .integer(auth.talk.now.seconds)]
        )
        let said = auth.refresh("grant_type=refresh_token&refresh_token=\(ada.refresh)")
        #expect(said.code == (isProduction ? "TOKEN_EXPIRED" : nil))
    }

    @Test(
        "4.13: a refresh for a deleted user gets the configured error code",
        arguments: [true, false]
    )
    func gone(tells: Bool) {
        var auth = FirebaseClient { $0.tellsDeletedUsers = tells }
        let ada = auth.addAda()
        _ = auth.admin("delete", ["localId": .string(ada.id)])
        let said = auth.refresh("grant_type=refresh_token&refresh_token=\(ada.refresh)")
        #expect(said.code == (tells ? "USER_NOT_FOUND" : "INVALID_REFRESH_TOKEN"))
    }

    // MARK: 4.12 · Many at once

    @Test("4.12: pages of users")
    func pages() {
        var auth = FirebaseClient()
        for number in 0..<5 { _ = auth.admin("", ["localId": .string("u\(number)")]) }
        let owner = [HTTPMessage.Field("Authorization", "Bearer owner")]
        let path = "\(FirebaseClient.root)/projects/demo-project/accounts:batchGet"
        let first = auth.talk.say("GET", path + "?maxResults=2", nil, owner)
        #expect(first["/users"]?.array?.compactMap { $0["localId"]?.string } == ["u0", "u1"])
        let next = first["/nextPageToken"]?.string ?? ""
        let second = auth.talk.say(
            "GET",
            path + "?maxResults=9&nextPageToken=\(next.percentEncoded)",
            nil,
            owner
        )
        #expect(
            second["/users"]?.array?.compactMap { $0["localId"]?.string } == ["u2", "u3", "u4"]
        )
        #expect(second["/nextPageToken"] == nil)
    }

    @Test("4.12: only the disabled are deleted in bulk, unless forced")
    func batchDelete() {
        var auth = FirebaseClient()
        _ = auth.admin("", ["localId": "on"])
        _ = auth.admin("", ["localId": "off", "disabled": true])
        let said = auth.admin("batchDelete", ["localIds": ["on", "off", "none"]])
        #expect(said["/errors"]?.array?.count == 1)
        #expect(said["/errors/0/localId"] == "on" && said["/errors/0/index"] == 0)
        #expect(auth.talk.state.userCount == 1)
        let forced = auth.admin("batchDelete", ["localIds": ["on"], "force": true])
        #expect(forced["/errors"] == nil && auth.talk.state.userCount == 0)
        #expect(auth.admin("batchDelete", ["localIds": []]).code == "LOCAL_ID_LIST_EXCEEDS_LIMIT")
    }
}
