package import Conformance

/// An app with accounts, as a value: anonymous use, email and Google sign-in, purchases, restore,
/// logout, forgotten passwords and deletion, with Firebase and RevenueCat as their SDKs call them.
///
/// One canonical id per signed-in person: the Firebase uid is the RevenueCat app user id (clause
/// catalogue, section A). The calls are those of the Firebase fact sheet, section 12, and of the
/// RevenueCat fact sheet, section 5.2. An act is a list of calls; each follows from the answer to
/// the one before.
package struct AccountApp: Sendable {
    /// What the app decides, each a value that holds the right one.
    struct Policy: Sendable {
        var refused: @Sendable (inout AccountApp, Stage) -> Void = { $0.refused($1) }
        var person: @Sendable (AccountApp, Stage, _ localID: String?) -> String? = {
            $0.person($1, $2)
        }
        var forget: @Sendable (inout AccountApp) -> Void = { $0.forget() }
    }

    /// What a person does.
    package struct Act: Hashable, Sendable {
        package var name: AppAction.Name
        package var email = ""
        package var password = ""
        package var product = "premium_monthly"

        package init(_ name: AppAction.Name) {
            self.name = name
        }
    }

    package enum Call: Hashable, Sendable {
        case firebase(HTTPMessage.Request)
        /// Codes that Firebase would have sent by mail.
        case mail(HTTPMessage.Request)
        case revenueCat(HTTPMessage.Request)
        /// A route of the backend's own, and what its templates stand for; the token goes along.
        case backend(route: String, values: [String: String], token: String?)
    }

    /// One call of an act, or what leads to it.
    enum Stage: Hashable {
        case anonymousSession, configure, register, link, password, wrongPassword, lookup, identify
        case google, googleAgain, buy, restore, sendCode, readMail, reset, refresh
        case deleteAtBackend, deleteAtFirebase
    }

    /// The receipts of the phone's store account, oldest first; they outlive the app.
    package private(set) var receipts: [Receipt]

    package struct Receipt: Hashable, Sendable {
        package let token: String
        package let product: String
    }

    /// The App User ID that RevenueCat's SDK uses.
    package private(set) var revenueCatID = ""
    /// The Firebase uid of who is signed in with an account.
    package internal(set) var uid: String?
    /// Why the last act ended early.
    package private(set) var failure: String?
    private var idToken: String?
    private var refreshToken: String?
    private(set) var act = Act(.launch)
    var stages: [Stage] = []
    private var code = ""
    private var callCount = 0
    private let installID: String
    let seed: String
    private let policy: Policy

    /// - Parameters:
    ///   - installID: The install id of the phone.
    ///   - receipts: What its store account has bought already.
    ///   - seed: What anonymous ids and receipts are made of; another for each installation.
    ///   - policy: What it decides.
    init(installID: String, receipts: [Receipt], seed: String, policy: Policy) {
        self.installID = installID
        self.receipts = receipts
        self.seed = seed
        self.policy = policy
    }

    // MARK: Acts

    private static func stages(of name: AppAction.Name) -> [Stage] {
        switch name {
        case .launch: [.anonymousSession, .configure, .register]
        case .signUp: [.link, .lookup, .identify, .register]
        case .signIn: [.password, .lookup, .identify, .register]
        case .google: [.google, .lookup, .identify, .register]
        case .purchase: [.buy]
        case .restore: [.restore]
        case .logout: [.anonymousSession, .configure, .register]
        case .forgotPassword:
            [
                .sendCode, .readMail, .reset, .wrongPassword, .password, .lookup, .identify,
                .register,
            ]
        case .refresh: [.refresh, .register]
        case .deleteAccount:
            [.deleteAtBackend, .deleteAtFirebase, .anonymousSession, .configure, .register]
        case .launchTwice, .reload, .kill, .upgrade, .upgradeTwice, .login, .status, .callback,
            .wait:
            []
        }
    }

    /// Begins an act.
    ///
    /// - Returns: The first call; nil when there is nothing to do.
    package mutating func begin(_ act: Act) -> Call? {
        self.act = act
        failure = nil
        stages = Self.stages(of: act.name)
        if act.name == .logout { signOut() }
        return next()
    }

    /// Goes on with the answer to the last call.
    ///
    /// - Parameter answer: What came back; nil: nothing did.
    /// - Returns: The next call; nil when the act is over.
    package mutating func take(_ answer: HTTPMessage.Response?) -> Call? {
        guard let stage = stages.first else { return nil }
        stages.removeFirst()
        let body = answer.flatMap { try? JSONValue(parsing: $0.body) } ?? .null
        let isDone = (200..<300).contains(answer?.status ?? 0)
        if !isDone { fail(stage, body) } else { learn(stage, body) }
        return next()
    }

    /// A provider that refuses ends the act, and nothing has changed.
    private mutating func fail(_ stage: Stage, _ body: JSONValue) {
        switch stage {
        // The old password has to stop.
        case .wrongPassword: return
        // The person has an account already: sign in instead of linking.
        case .google: stages.insert(.googleAgain, at: 0)
        // The backend is told again at the next act.
        case .register, .deleteAtBackend: return
        // The backend has deleted the Firebase user itself, as it may; the SDK signs out
        // (Firebase fact sheet, section 5.1: `auth/user-token-expired`).
        case .deleteAtFirebase where Self.isGone(body): signOut()
        default:
            failure = "\(stage): " + (body["error"]?["message"]?.string ?? body.text)
            policy.refused(&self, stage)
        }
    }

    /// Nothing follows from it: whoever was there is still there.
    mutating func refused(_ stage: Stage) { stages = [] }

    private mutating func learn(_ stage: Stage, _ body: JSONValue) {
        switch stage {
        case .anonymousSession: keepSession(body)
        case .link, .password, .google, .googleAgain:
            keepSession(body)
            uid = policy.person(self, stage, body["localId"]?.string)
        case .wrongPassword: failure = "the old password still works"
        case .identify: revenueCatID = uid ?? revenueCatID
        case .readMail:
            code =
                body["oobCodes"]?.array?.last { $0["email"]?.string == act.email }?["oobCode"]?
                .string ?? ""
        case .refresh: idToken = body["id_token"]?.string ?? idToken
        case .deleteAtFirebase: signOut()
        case .configure, .register, .lookup, .buy, .restore, .sendCode, .reset, .deleteAtBackend:
            break
        }
    }

    /// Firebase's uid is the person, however they signed in and whatever their password is.
    func person(_ stage: Stage, _ localID: String?) -> String? { localID }

    private static func isGone(_ body: JSONValue) -> Bool {
        body["error"]?["message"]?.string == "USER_NOT_FOUND"
    }

    private mutating func signOut() {
        uid = nil
        idToken = nil
    }

    private mutating func keepSession(_ body: JSONValue) {
        idToken = body["idToken"]?.string
        refreshToken = body["refreshToken"]?.string
    }

    // MARK: Calls

    private mutating func next() -> Call? {
        while let stage = stages.first {
            if let call = call(stage) { return call }
            stages.removeFirst()
        }
        return nil
    }

    private mutating func call(_ stage: Stage) -> Call? {
        switch stage {
        case .anonymousSession: return user("signUp", ["returnSecureToken": true])
        case .configure: return configure()
        case .register:
            return .backend(
                route: "register",
                values: [
                    "id": revenueCatID, "device": installID, "platform": "ios",
                    "source": act.name.rawValue,
                ],
                token: idToken
            )
        // An anonymous session becomes an account and keeps its uid.
        case .link:
            return user(
                "signUp",
                present([
                    ("email", .string(act.email)), ("password", .string(act.password)),
                    ("idToken", idToken.map(JSONValue.string)), ("returnSecureToken", true),
                ])
            )
        case .password: return signIn(act.name == .forgotPassword ? newPassword : act.password)
        case .wrongPassword: return signIn(act.password)
        case .lookup: return idToken.flatMap { user("lookup", ["idToken": .string($0)]) }
        case .google: return google(linking: true)
        case .googleAgain: return google(linking: false)
        case .identify: return identify()
        case .buy: return buy()
        case .restore: return receipts.last.map { receipt($0, isRestore: true) }
        case .sendCode:
            return user(
                "sendOobCode",
                ["requestType": "PASSWORD_RESET", "email": .string(act.email)]
            )
        case .readMail:
            return .mail(HTTPMessage.Request("GET", "/emulator/v1/projects/PROJECT/oobCodes"))
        case .reset:
            return user(
                "resetPassword",
                ["oobCode": .string(code), "newPassword": .string(newPassword)]
            )
        case .refresh: return refresh()
        case .deleteAtBackend:
            return uid.map {
                .backend(
                    route: "delete-account",
                    values: ["id": $0, "device": installID],
                    token: idToken
                )
            }
        case .deleteAtFirebase:
            return idToken.flatMap { user("delete", ["idToken": .string($0)]) }
        }
    }

    private var newPassword: String { "new-" + act.password }

    private func present(_ members: [(String, JSONValue?)]) -> JSONObject {
        JSONObject(
            members: members.compactMap { name, value in
                value.map { .init(key: name, value: $0) }
            }
        )
    }

    private func user(_ operation: String, _ body: JSONObject) -> Call {
        .firebase(
            HTTPMessage.Request(
                "POST",
                "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=assay",
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: JSONValue.object(body).bytes
            )
        )
    }

    private func signIn(_ password: String) -> Call {
        user(
            "signInWithPassword",
            [
                "email": .string(act.email), "password": .string(password),
                "returnSecureToken": true,
            ]
        )
    }

    /// What Google's sheet hands over: the emulator takes its token unsigned (section 6).
    private func google(linking: Bool) -> Call {
        let token: JSONValue = [
            "sub": .string("google-" + act.email), "email": .string(act.email),
            "email_verified": true,
        ]
        var body: JSONObject = [
            "requestUri": "http://localhost",
            "postBody": .string(
                "id_token=\(token.text.percentEncoded)&providerId=google.com"
            ), "returnSecureToken": true,
        ]
        if linking, let idToken { body["idToken"] = .string(idToken) }
        return user("signInWithIdp", body)
    }

    private func refresh() -> Call? {
        guard let refreshToken else { return nil }
        return .firebase(
            HTTPMessage.Request(
                "POST",
                "/securetoken.googleapis.com/v1/token?key=assay",
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: JSONValue.object([
                    "grant_type": "refresh_token", "refresh_token": .string(refreshToken),
                ]).bytes
            )
        )
    }

    private func sdk(_ path: String, _ body: JSONObject) -> Call {
        .revenueCat(
            HTTPMessage.Request(
                "POST",
                path,
                fields: [
                    HTTPMessage.Field("content-type", "application/json"),
                    HTTPMessage.Field("authorization", "Bearer appl_assay"),
                    HTTPMessage.Field("x-platform", "ios"),
                ],
                body: JSONValue.object(body).bytes
            )
        )
    }

    /// The SDK of an app that nobody is signed in to makes up an anonymous id.
    private mutating func configure() -> Call? {
        policy.forget(&self)
        return nil
    }

    /// At a logout as well: what is bought next is not of who was signed in.
    mutating func forget() {
        callCount += 1
        var generator = SeededGenerator(seed: 0, text: "\(seed)/\(callCount)")
        var hex = ""
        while hex.count < 32 {
            hex += String(generator.next() | 1 << 63, radix: 16)
        }
        revenueCatID = "$RCAnonymousID:" + hex.prefix(32)
    }

    /// A login that is current already calls nobody.
    private func identify() -> Call? {
        guard let uid, uid != revenueCatID else { return nil }
        return sdk(
            "/v1/subscribers/identify",
            ["app_user_id": .string(revenueCatID), "new_app_user_id": .string(uid)]
        )
    }

    private mutating func buy() -> Call? {
        callCount += 1
        let receipt = Receipt(token: "receipt-\(seed)-\(callCount)", product: act.product)
        receipts.append(receipt)
        return self.receipt(receipt, isRestore: false)
    }

    private func receipt(_ receipt: Receipt, isRestore: Bool) -> Call {
        sdk(
            "/v1/receipts",
            [
                "app_user_id": .string(revenueCatID), "fetch_token": .string(receipt.token),
                "product_id": .string(receipt.product), "is_restore": .bool(isRestore),
            ]
        )
    }
}
