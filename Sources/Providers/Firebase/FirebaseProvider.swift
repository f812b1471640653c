package import Redaction
package import Values

extension FirebaseState: Provider {
    package static let party = Exchange.Party.firebase
    package static var hints: ProviderHints {
        ProviderHints(
            environmentVariableNameParts: ["FIREBASE", "GCLOUD"],
            // The fake accepts every API key.
            values: ["API_KEY": "assay-test"],
            emulatorVariables: ["FIREBASE_AUTH_EMULATOR_HOST"],
            packages: ["firebase-admin", "firebase_admin", "firebase.google.com/go"]
        )
    }
    package static let hosts = FirebaseHosts.all
    package static let title = "Firebase Auth"
    package static let defaultPort = 9099
    package static var operations: [ServiceOperation] { FirebaseOperation.table.operations }
    package static let secrets = SecretFieldNames(
        headers: ["authorization", "x-firebase-appcheck", "x-goog-api-key"],
        members: [
            "idToken", "refreshToken", "refresh_token", "id_token", "access_token", "password",
            "newPassword", "sessionCookie", "oobCode", "oobLink", "email", "newEmail",
            "phoneNumber", "passwordHash", "key", "token", "customToken",
        ]
    )

    package static let controls = [
        ProviderControl(
            "rotateKeys",
            "POST",
            "/firebase/rotate-keys",
            "Signs tokens with a new key; the previous key stays published."
        ) { services, _, now in
            services.firebase.keys.rotate(at: now)
            return ["keys": .strings(services.firebase.keys.tokenKeyIDs)]
        }
    ]

    /// Returns the sender of a request to the fake Firebase.
    ///
    /// Requests with an `Authorization` header, GET requests for keys, and requests for an access
    /// token come from the backend. Other requests come from the app.
    package static func caller(of request: HTTPMessage.Request) -> Exchange.Party {
        request.method != "GET" && request[field: "authorization"] == nil
            && !request.path.hasPrefix(FirebaseHosts.accessTokenHostPrefix) ? .app : .backend
    }

    package static func isCalled(by backend: BackendTraits) -> Bool { backend.receivesIDTokens }

    package static func environment(_ setup: BackendSetup) -> [String: String] {
        guard let address = setup.addresses[party] else { return [:] }
        let serviceAccountEmail = "securetoken@system.gserviceaccount.com"
        let project = ["FIREBASE_PROJECT_ID": setup.project, "GCLOUD_PROJECT": setup.project]
        let keys =
            setup.isSigned
            ? [
                "FIREBASE_JWKS_URL": "\(address)/service_accounts/v1/jwk/\(serviceAccountEmail)",
                "FIREBASE_CERTS_URL": "\(address)/robot/v1/metadata/x509/\(serviceAccountEmail)",
                "FIREBASE_AUTH_BASE": address,
            ] : ["FIREBASE_AUTH_EMULATOR_HOST": String(address.drop { $0 != "/" }.dropFirst(2))]
        return project.merging(keys) { first, _ in first }
    }

    /// Creates the fake and ignores the provider's API key.
    ///
    /// A caller sends the API key of the Firebase project or a user's token.
    package init(seed: UInt64, key _: Secret?) {
        self.init(seed: seed)
    }

    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        FirebaseRouter.reply(to: request, &self, at: now)
    }

    package func failureResponse(_ status: Int, of _: HTTPMessage.Request) -> HTTPMessage.Response {
        FirebaseError.plannedError(status).response
    }

    package func failureResponse(code: String) -> HTTPMessage.Response? {
        FirebaseError.codedResponse(code)
    }
}

extension FirebaseState {
    /// Returns whether web pages of other origins must not send this request.
    ///
    /// Such pages must not use the emulator's own endpoints. They must not act as an administrator
    /// with the credential `owner` either, because this credential is public.
    package func isClosedToForeignPages(_ request: HTTPMessage.Request) -> Bool {
        if request.pathSegments?.starts(with: ["emulator", "v1"]) == true { return true }
        guard let (scheme, token) = request.authorization, scheme == "bearer" else { return false }
        return token.lowercased() == "owner"
    }
}
