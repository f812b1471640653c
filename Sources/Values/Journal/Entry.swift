/// Conversions between exchanges and journal entries. An entry is a real exchange, or one of four
/// kinds of events that Assay records itself.
///
/// The journal stores these events as exchanges made by Assay, so that all entries have one order
/// and saved runs stay readable. Only this file knows how an event is encoded.
extension Exchange {
    package enum Entry: Hashable, Sendable {
        /// A request from one party to another, such as a webhook.
        case exchange
        /// A user action in the app on that phone, or an event of the app: the system ended the
        /// app, or its page loaded or failed.
        case userAction(UserAction, on: PhoneRef)
        /// The content that the app's page on that phone showed.
        case screen(JSONValue?, on: PhoneRef)
        /// The state of a user or of a phone, returned by the probe of that name.
        case observation(probe: String, of: String)
        /// The backend was stopped and started again.
        case restart(String)
    }

    package var entry: Entry {
        switch purpose {
        case .userAction(let name):
            let actionDetails = request.bodyJSON
            let userAction = UserAction(
                name,
                missingElement: actionDetails?["missing"]?.string,
                text: actionDetails?["text"]?.string
            )
            return .userAction(userAction, on: phone ?? Self.defaultPhone)
        case .screen: return .screen(responseJSON, on: phone ?? Self.defaultPhone)
        case .probe(let name, let user): return .observation(probe: name, of: user)
        case .restart(let text): return .restart(text)
        case .delivery, .registration, .appCall, .call, .sentinel: return .exchange
        }
    }

    /// The name of the phone in contracts that have only one phone.
    private static let defaultPhone = PhoneRef("phone")

    /// The body of the exchange's response as JSON; nil without a response or when the body is not
    /// JSON.
    package var responseJSON: JSONValue? { response?.bodyJSON }

    /// Makes the journal entry for a user action or a page event on a phone.
    package static func userAction(
        _ userAction: UserAction,
        on phone: String,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        var actionDetails = JSONObject()
        if let missingElement = userAction.missingElement {
            actionDetails["missing"] = .string(missingElement)
        }
        if let text = userAction.text { actionDetails["text"] = .string(text) }
        return Exchange(
            from: .assay,
            to: .app,
            namespace: namespace,
            purpose: .userAction(userAction.name),
            at: now,
            request: HTTPMessage.Request(
                "POST",
                "/" + userAction.name,
                body: actionDetails.members.isEmpty ? [] : JSONValue.object(actionDetails).bytes
            ),
            phone: PhoneRef(phone),
            outcome: .answered(HTTPMessage.Response(200))
        )
    }

    /// Makes the journal entry for the content that the app's page on a phone shows.
    ///
    /// The member names of `content` are the raw values of `AppExpectation.Screen.Element`.
    package static func screen(
        _ content: JSONValue,
        on phone: String,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        directObservation(
            at: .app,
            .screen,
            "/screen",
            content,
            on: phone,
            namespace: namespace,
            at: now
        )
    }

    /// Makes the journal entry for the stored state of a phone, in the format of the `/device`
    /// response of the fake Despia runtime.
    package static func observation(
        of phone: String,
        _ content: JSONValue,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        let purpose = Purpose.probe(name: "phone", user: phone)
        return directObservation(
            at: .bridge,
            purpose,
            "/device",
            content,
            on: phone,
            namespace: namespace,
            at: now
        )
    }

    /// Makes the journal entry for an observation that Assay made directly on a phone.
    private static func directObservation(
        at party: Party,
        _ purpose: Purpose,
        _ target: String,
        _ content: JSONValue,
        on phone: String,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        Exchange(
            from: .assay,
            to: party,
            namespace: namespace,
            purpose: purpose,
            at: now,
            request: HTTPMessage.Request("GET", target),
            phone: PhoneRef(phone),
            outcome: .answered(HTTPMessage.Response(200, json: content))
        )
    }

    /// The method of the request that represents a command of the profile.
    package static let commandMethod = "RUN"

    /// Makes the journal entry for a probe that runs a command of the profile, before the command
    /// runs.
    package static func observation(
        of user: String,
        probe name: String,
        byRunningCommand arguments: [String],
        namespace: String,
        at now: Instant
    ) -> Exchange {
        Exchange(
            from: .assay,
            to: .backend,
            namespace: namespace,
            purpose: .probe(name: name, user: user),
            at: now,
            request: HTTPMessage.Request(commandMethod, arguments.joined(separator: " "))
        )
    }

    /// Makes the journal entry for a backend restart, before the backend is stopped.
    ///
    /// `signal` is the name of the signal without `SIG`, such as `KILL`.
    package static func restart(
        _ signal: String,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        Exchange(
            from: .assay,
            to: .backend,
            namespace: namespace,
            purpose: .restart("SIG\(signal), then started again"),
            at: now,
            request: HTTPMessage.Request("RESTART", "SIG" + signal)
        )
    }

    /// Makes the journal entry for a command that an app's page sends over the bridge to the native
    /// side.
    ///
    /// - Parameters:
    ///   - text: The command exactly as the page assigned it to `window.despia`.
    ///   - phone: The phone, and the number of the page load that sent the command.
    ///   - page: The time on the page's clock, in milliseconds.
    ///   - namespace: The namespace of the run.
    ///   - now: The virtual time at which the command was sent.
    /// - Returns: The entry, in which the command has no response yet.
    package static func command(
        _ text: String,
        from phone: PhoneRef,
        page: Int64,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        let body: JSONObject = [
            "command": .string(text), "device": .string(phone.name),
            "load": .string(phone.load ?? ""), "page": .integer(page),
        ]
        return Exchange(
            from: .app,
            to: .bridge,
            namespace: namespace,
            purpose: .call,
            at: now,
            request: HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes),
            phone: phone
        )
    }
}
