/// What stands in a journal: exchanges, and four things that are none.
///
/// These four are written as exchanges of Assay's own, so that one order holds everything and runs
/// that were saved can be read; how they are spelt is known here alone.
extension Exchange {
    package enum Entry: Hashable, Sendable {
        /// Somebody asked somebody.
        case exchange
        /// A person used the app on that phone, the system ended it, or its page told something.
        case gesture(Gesture, on: PhoneRef)
        /// What the page on that phone showed.
        case screen(JSONValue?, on: PhoneRef)
        /// What a look at a user's state, or at a phone, showed.
        case sighting(probe: String, of: String)
        /// The backend was stopped and started again.
        case restart(String)
    }

    package var entry: Entry {
        switch purpose {
        case .gesture(let name):
            let detail = try? JSONValue(parsing: request.body)
            let gesture = Gesture(
                name,
                missing: detail?["missing"]?.string,
                text: detail?["text"]?.string
            )
            return .gesture(gesture, on: phone ?? Self.onlyPhone)
        case .screen: return .screen(answeredJSON, on: phone ?? Self.onlyPhone)
        case .probe(let name, let user): return .sighting(probe: name, of: user)
        case .restart(let text): return .restart(text)
        case .delivery, .registration, .appCall, .call, .sentinel: return .exchange
        }
    }

    /// What a contract calls its phone when it has but one.
    private static let onlyPhone = PhoneRef("phone")

    /// The answer's body as JSON.
    package var answeredJSON: JSONValue? {
        response.flatMap { try? JSONValue(parsing: $0.body) }
    }

    /// A person's act on a phone.
    package static func gesture(
        _ gesture: Gesture,
        on phone: String,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        var detail = JSONObject()
        if let missing = gesture.missing { detail["missing"] = .string(missing) }
        if let text = gesture.text { detail["text"] = .string(text) }
        return Exchange(
            from: .assay,
            to: .app,
            namespace: namespace,
            purpose: .gesture(gesture.name),
            at: now,
            request: HTTPMessage.Request(
                "POST",
                "/" + gesture.name,
                body: detail.members.isEmpty ? [] : JSONValue.object(detail).bytes
            ),
            phone: PhoneRef(phone),
            outcome: .answered(HTTPMessage.Response(200))
        )
    }

    /// What the page on a phone shows, by the names of `AppExpectation.Screen.Element`.
    package static func screen(
        _ shown: JSONValue,
        on phone: String,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        look(at: .app, .screen, "/screen", shown, on: phone, namespace: namespace, at: now)
    }

    /// What a phone holds, as the fake shows a device.
    package static func sighting(
        of phone: String,
        _ shown: JSONValue,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        let purpose = Purpose.probe(name: "phone", user: phone)
        return look(
            at: .despia,
            purpose,
            "/device",
            shown,
            on: phone,
            namespace: namespace,
            at: now
        )
    }

    /// What Assay itself saw of a phone.
    private static func look(
        at party: Party,
        _ purpose: Purpose,
        _ target: String,
        _ shown: JSONValue,
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
            outcome: .answered(HTTPMessage.Response(200, json: shown))
        )
    }

    /// A look at a user's state by a command of the profile's, before it has run.
    package static func sighting(
        of user: String,
        probe name: String,
        byRunning words: [String],
        namespace: String,
        at now: Instant
    ) -> Exchange {
        Exchange(
            from: .assay,
            to: .backend,
            namespace: namespace,
            purpose: .probe(name: name, user: user),
            at: now,
            request: HTTPMessage.Request("RUN", words.joined(separator: " "))
        )
    }

    /// A stop of the backend and its new start, before either.
    package static func restart(
        _ signal: Restart.Signal,
        namespace: String,
        at now: Instant
    ) -> Exchange {
        Exchange(
            from: .assay,
            to: .backend,
            namespace: namespace,
            purpose: .restart("SIG\(signal.rawValue), then started again"),
            at: now,
            request: HTTPMessage.Request("RESTART", "SIG" + signal.rawValue)
        )
    }

    /// A text that a page gave the native side, as the bridge takes it.
    ///
    /// - Parameters:
    ///   - text: What the page assigned, to the letter.
    ///   - phone: The phone, and which load of its page it was.
    ///   - page: Milliseconds on the page's own clock.
    ///   - namespace: The run.
    ///   - now: Virtual time.
    /// - Returns: The command before it is answered.
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
            to: .despia,
            namespace: namespace,
            purpose: .call,
            at: now,
            request: HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes),
            phone: phone
        )
    }
}
