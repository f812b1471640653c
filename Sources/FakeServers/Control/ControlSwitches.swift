package import Conformance
internal import Providers

/// A provider's switches by name, and what of the services they are.
private struct SwitchGroup: Sendable {
    let name: String
    let shown: @Sendable (Services) -> JSONValue
    let change: @Sendable (inout Services, JSONValue) throws(ControlAPI.Refusal) -> Void

    init<Settings: Codable & SendableMetatype>(
        _ name: String,
        _ place: any WritableKeyPath<Services, Settings> & Sendable
    ) {
        self.name = name
        shown = { Switches.shown($0[keyPath: place]) }
        change = { (services, value) throws(ControlAPI.Refusal) in
            try Switches.merge(&services[keyPath: place], value, name)
        }
    }

    static let all = [
        SwitchGroup("revenuecat", \.revenueCat.settings),
        SwitchGroup("onesignal", \.oneSignal.settings),
        SwitchGroup("firebase", \.firebase.settings),
        SwitchGroup("purchasely", \.purchasely.settings),
        SwitchGroup("despia", \.despia.settings), SwitchGroup("despia-faults", \.despia.faults),
    ]

    static func change(
        _ services: inout Services,
        _ name: String,
        _ value: JSONValue
    ) throws(ControlAPI.Refusal) {
        guard let group = all.first(where: { $0.name == name }) else {
            throw ControlAPI.Refusal(
                400,
                "'\(name)' has no switches",
                hint: "there are " + all.map(\.name).joined(separator: ", ")
            )
        }
        try group.change(&services, value)
    }
}

/// Every provider's switches.
extension ControlAPI {
    func settings(_ route: ControlRoute, _ call: Call) throws(Refusal) -> JSONValue {
        if route == .patchSettings { try changeSettings(call) }
        let shown = world.read(call.namespace) { services, _ in
            SwitchGroup.all.map { JSONObject.Member(key: $0.name, value: $0.shown(services)) }
        }
        return shown.map { .object(JSONObject(members: $0)) } ?? .null
    }

    /// All or nothing: a wrong switch leaves the others as they were.
    private func changeSettings(_ call: Call) throws(Refusal) {
        guard !call.body.members.isEmpty else {
            throw Refusal(400, "give the switches of at least one provider")
        }
        let problem = world.edit(call.namespace) { services, _ -> Refusal? in
            var changed = services
            do throws(Refusal) {
                for member in call.body.members {
                    try SwitchGroup.change(&changed, member.key, member.value)
                }
            } catch {
                return error
            }
            services = changed
            return nil
        }
        if let problem = problem ?? nil { throw problem }
    }

    /// Changes one switch by name, for the command line.
    ///
    /// - Returns: What is wrong; nil when it was changed.
    package static func changeSwitch(
        of provider: String,
        _ name: String,
        to value: JSONValue,
        in world: FakeWorld
    ) -> String? {
        let change = JSONValue.object(JSONObject(members: [.init(key: name, value: value)]))
        let problem = world.edit("") { services, _ -> String? in
            do throws(Refusal) {
                try SwitchGroup.change(&services, provider, change)
                return nil
            } catch {
                return error.text + (error.hint.map { "; " + $0 } ?? "")
            }
        }
        return problem ?? nil
    }
}

/// Settings by the names of their members: shown whole, changed one by one.
enum Switches {
    private static func names(_ settings: some Any) -> [String] {
        Mirror(reflecting: settings).children.compactMap(\.label)
    }

    /// A switch without a value is there to be found, too.
    static func shown(_ settings: some Encodable) -> JSONValue {
        var object = (try? JSONValue(encoding: settings))?.object ?? JSONObject()
        for name in names(settings) where object[name] == nil { object[name] = .null }
        return .object(object)
    }

    /// Changes what is given; an unknown name, or a value of the wrong kind, changes nothing.
    static func merge<Settings: Codable>(
        _ settings: inout Settings,
        _ value: JSONValue,
        _ owner: String
    ) throws(ControlAPI.Refusal) {
        guard let changes = value.object else {
            throw ControlAPI.Refusal(400, "'\(owner)' takes an object")
        }
        let names = names(settings)
        guard var object = (try? JSONValue(encoding: settings))?.object else { return }
        for change in changes.members {
            guard names.contains(change.key) else {
                throw ControlAPI.Refusal(
                    400,
                    "\(owner) has no switch '\(change.key)'",
                    hint: "there are " + names.joined(separator: ", ")
                )
            }
            object[change.key] = change.value.isNull ? nil : change.value
        }
        do {
            settings = try JSONValue.object(object).decoded()
        } catch {
            throw ControlAPI.Refusal(400, "\(owner): \(problem(error, changes))")
        }
    }

    private static func problem(_ error: any Error, _ changes: JSONObject) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context):
            guard let key = context.codingPath.last else { return words(context) }
            return "'\(key.stringValue)' does not take "
                + (changes[key.stringValue]?.text ?? "this")
        case DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context), DecodingError.keyNotFound(_, let context):
            return words(context)
        default: return "\(error)"
        }
    }

    private static func words(_ context: DecodingError.Context) -> String {
        "'" + context.codingPath.map(\.stringValue).joined(separator: ".") + "': "
            + context.debugDescription
    }
}
