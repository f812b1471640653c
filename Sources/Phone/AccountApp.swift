package import Contracts
package import Values

/// A scripted app with user accounts, as a value.
///
/// It supports anonymous use, email and Google sign-in, purchases, restore, logout, forgotten
/// passwords and account deletion.
///
/// The app sends the same requests to Firebase and RevenueCat as their SDKs.
///
/// A signed-in user has one ID: the Firebase uid is also the RevenueCat App User ID (clause
/// catalogue, section A). The requests are those of the Firebase fact sheet, section 12, and of the
/// RevenueCat fact sheet, section 5.2. A user action is a list of calls; each call depends on the
/// response to the previous one.
package struct AccountApp: Sendable {
    /// The decisions of the app, such as the user ID after a login.
    ///
    /// Each default is the correct decision.
    struct Policy: Sendable {
        var handleRefusal: @Sendable (inout AccountApp, RequestStep) -> Void = {
            $0.handleRefusal($1)
        }
        var resultingUserID: @Sendable (AccountApp, RequestStep, _ localID: String?) -> String? = {
            $0.resultingUserID($1, $2)
        }
        var clearUserID: @Sendable (inout AccountApp) -> Void = { $0.clearUserID() }
    }

    /// A user action in the app, such as a sign-in or a purchase.
    package struct AccountAction: Hashable, Sendable {
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
        /// Reads the codes that Firebase would have sent by email, from the fake Firebase.
        case mail(HTTPMessage.Request)
        case revenueCat(HTTPMessage.Request)
        /// A call to a route of the tested backend, with the values for the route's templates and
        /// the Firebase ID token to send.
        case backend(route: String, values: [String: String], token: String?)
    }

    /// One step of a user action: a call, or the preparation of a call.
    enum RequestStep: Hashable {
        case anonymousSession, configure, register, linkAccount, password, wrongPassword,
            lookUpAccount, identify
        case google, googleWithoutLinking, buy, restore, sendCode, readMail, resetPassword, refresh
        case deleteAtBackend, deleteAtFirebase
    }

    /// The receipts of the phone's store account, oldest first.
    ///
    /// The receipts remain when the app is deleted.
    package private(set) var receipts: [Receipt]

    package struct Receipt: Hashable, Sendable {
        package let token: String
        package let product: String
    }

    /// The App User ID that RevenueCat's SDK uses.
    package private(set) var revenueCatID = ""
    /// The Firebase uid of the user who is signed in with an account.
    package internal(set) var uid: String?
    /// The reason why the last user action ended early; nil when it was completed.
    package private(set) var failure: String?
    private var idToken: String?
    private var refreshToken: String?
    private(set) var action = AccountAction(.launch)
    var requestSteps: [RequestStep] = []
    private var resetCode = ""
    private var callCount = 0
    private let installID: String
    let seed: String
    private let policy: Policy

    /// Creates an app that makes the given decisions.
    ///
    /// - Parameters:
    ///   - installID: The install ID of the phone.
    ///   - receipts: The receipts of earlier purchases of the phone's store account.
    ///   - seed: The seed of random anonymous IDs and receipts. Each installation needs a different
    ///     seed.
    ///   - policy: The decisions of the app.
    init(installID: String, receipts: [Receipt], seed: String, policy: Policy) {
        self.installID = installID
        self.receipts = receipts
        self.seed = seed
        self.policy = policy
    }

    // MARK: Actions

    private static func requestSteps(of name: AppAction.Name) -> [RequestStep] {
        switch name {
        case .launch: [.anonymousSession, .configure, .register]
        case .signUp: [.linkAccount, .lookUpAccount, .identify, .register]
        case .signIn: [.password, .lookUpAccount, .identify, .register]
        case .google: [.google, .lookUpAccount, .identify, .register]
        case .purchase: [.buy]
        case .restore: [.restore]
        case .logout: [.anonymousSession, .configure, .register]
        case .forgotPassword:
            [
                .sendCode, .readMail, .resetPassword, .wrongPassword, .password, .lookUpAccount,
                .identify,
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

    /// Starts a user action.
    ///
    /// - Returns: The first call of the action; nil when the action needs no call.
    package mutating func begin(_ action: AccountAction) -> Call? {
        self.action = action
        failure = nil
        requestSteps = Self.requestSteps(of: action.name)
        if action.name == .logout { signOut() }
        return next()
    }

    /// Continues the current user action after its last call.
    ///
    /// - Parameter response: The response to the last call; nil when no response arrived.
    /// - Returns: The next call; nil when the action is over.
    package mutating func take(_ response: HTTPMessage.Response?) -> Call? {
        guard let requestStep = requestSteps.first else { return nil }
        requestSteps.removeFirst()
        let body = response?.bodyJSON ?? .null
        let hasSucceeded = (200..<300).contains(response?.status ?? 0)
        if !hasSucceeded {
            handleFailedStep(requestStep, body)
        } else {
            recordResult(requestStep, body)
        }
        return next()
    }

    /// Handles a refused call of a user action.
    ///
    /// A refusal that the app does not expect ends the user action, without any change of the user
    ///
    private mutating func handleFailedStep(_ requestStep: RequestStep, _ body: JSONValue) {
        switch requestStep {
        // The app tries the old password after a password reset. Its refusal is the correct result.
        case .wrongPassword: return
        // The Google account already belongs to a Firebase user, so the app signs in instead of
        // linking the account.
        case .google: requestSteps.insert(.googleWithoutLinking, at: 0)
        // The app ignores the refusal, because the next user action calls the backend again.
        case .register, .deleteAtBackend: return
        // The backend may delete the Firebase user itself. The SDK then signs the user out
        // (Firebase fact sheet, section 5.1: `auth/user-token-expired`).
        case .deleteAtFirebase where Self.isAccountMissing(body): signOut()
        default:
            failure = "\(requestStep): " + (body["error"]?["message"]?.string ?? body.text)
            policy.handleRefusal(&self, requestStep)
        }
    }

    /// Ends the user action after a refused call.
    ///
    /// The current user stays the same.
    mutating func handleRefusal(_ requestStep: RequestStep) { requestSteps = [] }

    private mutating func recordResult(_ requestStep: RequestStep, _ body: JSONValue) {
        switch requestStep {
        case .anonymousSession: storeSession(body)
        case .linkAccount, .password, .google, .googleWithoutLinking:
            storeSession(body)
            uid = policy.resultingUserID(self, requestStep, body["localId"]?.string)
        case .wrongPassword: failure = "the old password still works after the password reset"
        case .identify: revenueCatID = uid ?? revenueCatID
        case .readMail:
            resetCode =
                body["oobCodes"]?.array?.last { $0["email"]?.string == action.email }?["oobCode"]?
                .string ?? ""
        case .refresh: idToken = body["id_token"]?.string ?? idToken
        case .deleteAtFirebase: signOut()
        case .configure, .register, .lookUpAccount, .buy, .restore, .sendCode, .resetPassword,
            .deleteAtBackend:
            break
        }
    }

    /// Returns the user ID of the app after a sign-in.
    ///
    /// The correct app uses the Firebase uid after every sign-in method and every password change
    ///
    func resultingUserID(_ requestStep: RequestStep, _ localID: String?) -> String? { localID }

    private static func isAccountMissing(_ body: JSONValue) -> Bool {
        body["error"]?["message"]?.string == "USER_NOT_FOUND"
    }

    private mutating func signOut() {
        uid = nil
        idToken = nil
    }

    private mutating func storeSession(_ body: JSONValue) {
        idToken = body["idToken"]?.string
        refreshToken = body["refreshToken"]?.string
    }

    // MARK: Calls

    private mutating func next() -> Call? {
        while let requestStep = requestSteps.first {
            if let call = call(requestStep) { return call }
            requestSteps.removeFirst()
        }
        return nil
    }

    private mutating func call(_ requestStep: RequestStep) -> Call? {
        switch requestStep {
        case .anonymousSession: return firebaseAccountCall("signUp", ["returnSecureToken": true])
        case .configure: return configure()
        case .register:
            return .backend(
                route: "register",
                values: [
                    "id": revenueCatID, "device": installID, "platform": "ios",
                    "source": action.name.rawValue,
                ],
                token: idToken
            )
        // The anonymous Firebase user becomes a user with an account and keeps its uid.
        case .linkAccount:
            return firebaseAccountCall(
                "signUp",
                withoutMissingValues([
                    ("email", .string(action.email)), ("password", .string(action.password)),
                    ("idToken", idToken.map(JSONValue.string)), ("returnSecureToken", true),
                ])
            )
        case .password:
            return signIn(action.name == .forgotPassword ? newPassword : action.password)
        case .wrongPassword: return signIn(action.password)
        case .lookUpAccount:
            return idToken.flatMap { firebaseAccountCall("lookup", ["idToken": .string($0)]) }
        case .google: return google(linking: true)
        case .googleWithoutLinking: return google(linking: false)
        case .identify: return identify()
        case .buy: return buy()
        case .restore: return receipts.last.map { receipt($0, isRestore: true) }
        case .sendCode:
            return firebaseAccountCall(
                "sendOobCode",
                ["requestType": "PASSWORD_RESET", "email": .string(action.email)]
            )
        case .readMail:
            return .mail(HTTPMessage.Request("GET", "/emulator/v1/projects/PROJECT/oobCodes"))
        case .resetPassword:
            return firebaseAccountCall(
                "resetPassword",
                ["oobCode": .string(resetCode), "newPassword": .string(newPassword)]
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
            return idToken.flatMap { firebaseAccountCall("delete", ["idToken": .string($0)]) }
        }
    }

    private var newPassword: String { "new-" + action.password }

    private func withoutMissingValues(_ members: [(String, JSONValue?)]) -> JSONObject {
        JSONObject(
            members: members.compactMap { name, value in
                value.map { .init(key: name, value: $0) }
            }
        )
    }

    private func firebaseAccountCall(_ operation: String, _ body: JSONObject) -> Call {
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
        firebaseAccountCall(
            "signInWithPassword",
            [
                "email": .string(action.email), "password": .string(password),
                "returnSecureToken": true,
            ]
        )
    }

    /// Returns the call that signs in with the token of Google's sign-in sheet.
    ///
    /// Firebase's emulator accepts this token unsigned (Firebase fact sheet, section 6).
    private func google(linking: Bool) -> Call {
        let token: JSONValue = [
            "sub": .string("google-" + action.email), "email": .string(action.email),
            "email_verified": true,
        ]
        var body: JSONObject = [
            "requestUri": "http://localhost",
            "postBody": .string(
                "id_token=\(token.text.percentEncoded)&providerId=google.com"
            ), "returnSecureToken": true,
        ]
        if linking, let idToken { body["idToken"] = .string(idToken) }
        return firebaseAccountCall("signInWithIdp", body)
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

    private func firebaseSDKCall(_ path: String, _ body: JSONObject) -> Call {
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

    /// Configures the RevenueCat SDK, which creates an anonymous ID when no user is signed in.
    private mutating func configure() -> Call? {
        policy.clearUserID(&self)
        return nil
    }

    /// Creates a new anonymous App User ID.
    ///
    /// After a logout, later purchases therefore do not belong to the previous user.
    mutating func clearUserID() {
        callCount += 1
        var generator = SeededGenerator(seed: 0, text: "\(seed)/\(callCount)")
        var hexDigits = ""
        while hexDigits.count < 32 {
            hexDigits += String(generator.next() | 1 << 63, radix: 16)
        }
        revenueCatID = "$RCAnonymousID:" + hexDigits.prefix(32)
    }

    /// Returns the login call of the RevenueCat SDK; nil when the SDK already uses the ID of the
    /// user.
    private func identify() -> Call? {
        guard let uid, uid != revenueCatID else { return nil }
        return firebaseSDKCall(
            "/v1/subscribers/identify",
            ["app_user_id": .string(revenueCatID), "new_app_user_id": .string(uid)]
        )
    }

    private mutating func buy() -> Call? {
        callCount += 1
        let receipt = Receipt(token: "receipt-\(seed)-\(callCount)", product: action.product)
        receipts.append(receipt)
        return self.receipt(receipt, isRestore: false)
    }

    private func receipt(_ receipt: Receipt, isRestore: Bool) -> Call {
        firebaseSDKCall(
            "/v1/receipts",
            [
                "app_user_id": .string(revenueCatID), "fetch_token": .string(receipt.token),
                "product_id": .string(receipt.product), "is_restore": .bool(isRestore),
            ]
        )
    }
}
