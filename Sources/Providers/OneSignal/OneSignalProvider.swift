package import Redaction
package import Values

extension OneSignalState: Provider {
    package static let party = Exchange.Party.oneSignal
    package static let hosts = [ServiceHost("api.onesignal.com"), ServiceHost("onesignal.com")]
    package static var hints: ProviderHints {
        ProviderHints(
            environmentVariableNameParts: ["ONESIGNAL", "ONE_SIGNAL"],
            values: ["APP_ID": defaultAppID, "APPID": defaultAppID],
            packages: ["onesignal-node", "@onesignal/node-onesignal", "onesignal-sdk", "onesignal"]
        )
    }
    package static let title = "OneSignal"
    package static let defaultPort = 9320
    package static var operations: [ServiceOperation] { OneSignalOperation.table.operations }
    package static let secrets = SecretFieldNames(
        headers: ["authorization"],
        members: ["token", "identifier", "email", "phone_number", "identifier_auth_hash", "ip"]
    )

    /// The ID of the OneSignal app that a backend under test uses.
    package static let defaultAppID = "a55a4000-0000-4000-8000-000000000000"

    package init(seed: UInt64, key: Secret?) {
        self.init(key: key, seed: seed)
    }

    package var enteredSecrets: [(name: String, secret: Secret)] {
        key.map { [("onesignal-key", $0)] } ?? []
    }

    package static func isCalled(by _: BackendTraits) -> Bool { true }

    package static func environment(_ setup: BackendSetup) -> [String: String] {
        let variableValues: [(String, String?)] = [
            ("ONESIGNAL_API_BASE", setup.addresses[party]),
            ("ONESIGNAL_APP_ID", defaultAppID),
            ("ONESIGNAL_API_KEY", setup.text(.oneSignalKey)),
        ]
        return .init(
            uniqueKeysWithValues: variableValues.compactMap { name, text in text.map { (name, $0) }
            }
        )
    }

    package mutating func take(key: Secret?) { self.key = key.flatMap { $0.isEmpty ? nil : $0 } }

    package func failureResponse(_ status: Int, of _: HTTPMessage.Request) -> HTTPMessage.Response {
        OneSignalError.plannedError(status).response
    }

    // MARK: Provider calls

    /// Recognizes a request that sends a message, accepted or not, or that changes tags.
    ///
    /// Returns nil for any other exchange.
    package static func call(in exchange: Exchange) -> ProviderCall? {
        let request = exchange.request
        guard request.method != "GET" else { return nil }
        // A body that is not JSON has no fields. OneSignal refuses such a message.
        let body = (try? request.json())??.object
        let refusal = refusal(exchange.response)
        if request.method == "POST", request.path.hasSuffix("/notifications") {
            let message = body.map(OneSignalMessage.init)
            return ProviderCall(
                kind: message?.effectKind ?? "onesignal.notification",
                idempotencyKey: message?.idempotencyKey,
                refusal: refusal
            )
        }
        let tags = (body?["properties"]?["tags"] ?? body?["tags"])?.object?.keys ?? []
        guard !tags.isEmpty else { return nil }
        return ProviderCall(
            kind: "onesignal.tags",
            reservedNames: RevenueCatIntegration.tagNames.intersection(tags).sorted(),
            refusal: refusal
        )
    }

    private static func refusal(_ response: HTTPMessage.Response?) -> ProviderCall.Refusal? {
        switch response?.status {
        case 400: return .form
        case 429:
            let seconds = response?[field: "retry-after"].flatMap { Int64($0) } ?? 0
            return .rate(retryAfter: .seconds(seconds))
        default: return nil
        }
    }
}

extension OneSignalState {
    /// Whether the fake refuses this request when a web page of another origin sends it.
    ///
    /// This is true for the writing operations of a backend while the fake has no API key. Without
    /// a key, the fake would accept the page as a backend. Pages of an app use only the operations
    /// that need no key.
    package func isClosedToForeignPages(_ request: HTTPMessage.Request) -> Bool {
        guard key == nil, !["GET", "HEAD"].contains(request.method),
            var path = request.pathSegments
        else { return false }
        if path.starts(with: ["api", "v1"]) { path.removeFirst(2) }
        guard
            let operation = OneSignalOperation.table.findOperation(request.method, path)?.operation
        else {
            return false
        }
        return [.app, .organization].contains(operation.requiredAccess)
    }
}

extension OneSignalState: PushService {
    package static let messageKind = "onesignal.notification"
}
