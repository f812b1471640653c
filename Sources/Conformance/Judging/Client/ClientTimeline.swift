/// What one device scenario showed, in one order: bridge commands, the app's calls, and what a
/// person did.
///
/// It is read from the journal alone. A command is a `POST /bridge` of the app to Despia; a call of
/// the app's is an exchange with the backend whose purpose names the route; gestures, what the page
/// shows and what the phone holds are exchanges of Assay's own.
package struct ClientTimeline: Sendable {
    package struct Command: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let load: String
        /// Microseconds since the journal began, when the setter's text arrived.
        package let time: Int64
        package let bridge: BridgeCommand

        /// Scheme and path: `revenuecat://launchPaywall`.
        package var name: String {
            bridge.path.isEmpty ? bridge.scheme : "\(bridge.scheme)://\(bridge.path)"
        }

        package var isPaywall: Bool {
            name == "revenuecat://launchPaywall" || name == "revenuecat://purchase"
        }
    }

    /// A call that announces the user.
    package struct Registration: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let load: String
        package let sent: Int64
        package let answered: Int64?
        package let id: String?
        package let device: String?
        package let platform: String?
        package let source: String?
        package let status: Int?
        /// A 2xx whose body names no other id (C-12); some backends answer none at all.
        package let isAcknowledged: Bool
    }

    package struct Login: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let sent: Int64
        package let answered: Int64?
        package let current: String?
    }

    /// A person's act, with its place in the journal.
    package struct Gesture: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let name: String
        package let time: Int64
        /// The selector of an element that was to be tapped and was not there.
        package let missing: String?

        /// Whether a new page came with it.
        package var isLaunch: Bool { ["launch", "reload"].contains(name) }
    }

    /// What befell a page, with what it told of it.
    package struct PageEvent: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let time: Int64
        package let text: String
    }

    /// The native side called a function of the page.
    package struct Callback: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let function: String
        /// Whether the page had it.
        package let isHeard: Bool
    }

    package private(set) var commands: [Command] = []
    package private(set) var registrations: [Registration] = []
    package private(set) var logins: [Login] = []
    package private(set) var gestures: [Gesture] = []
    package private(set) var errors: [PageEvent] = []
    /// Documents whose first script could run: a page that loads itself anew has several.
    package private(set) var starts: [PageEvent] = []
    /// Documents whose scripts have run.
    package private(set) var loads: [PageEvent] = []
    package private(set) var callbacks: [Callback] = []
    /// Calls of the page that are no route of the profile.
    package private(set) var strayCalls: [PageEvent] = []
    /// What each phone held when the scenario was over, as the fake shows a device.
    package private(set) var phones: [String: JSONValue] = [:]
    /// What each phone held before the app was first opened.
    package private(set) var firstPhones: [String: JSONValue] = [:]
    /// How long the native side takes to reply, in microseconds, by the number of the command; one
    /// that gets no reply has none.
    package private(set) var replyDelays: [Int: Int64] = [:]
    /// Commands whose reply the package takes for a result (section 1.4).
    private var results: Set<Int> = []
    /// What each page showed in the end, by the names of `AppExpectation.Screen.Element`.
    package private(set) var screens: [String: JSONValue] = [:]

    /// The keys of the vault by their role.
    package let keys: [PhoneChange.VaultRole: String]

    package init(_ record: RunRecord, profile: Profile) {
        self.init(record.exchanges, profile: profile)
    }

    package init(_ exchanges: [Exchange], profile: Profile) {
        keys = profile.app.vaultKeys
        let fields = Fields(profile)
        for exchange in exchanges { add(exchange, fields) }
    }

    // MARK: Reading

    private mutating func add(_ exchange: Exchange, _ fields: Fields) {
        switch exchange.entry {
        case .gesture(let gesture, let phone): add(gesture, phone.name, exchange)
        case .screen(let shown, let phone): screens[phone.name] = shown
        case .sighting(_, let phone) where exchange.to == .despia:
            phones[phone] = exchange.answeredJSON
            if firstPhones[phone] == nil { firstPhones[phone] = phones[phone] }
        case .exchange where exchange.from == .app && exchange.to == .despia:
            add(command: exchange)
        case .exchange where exchange.from == .app && exchange.to == .backend:
            if exchange.purpose == .appCall("register") { add(registration: exchange, fields) }
            if exchange.purpose == .appCall("login") { add(login: exchange, fields) }
        case .exchange, .sighting, .restart: break
        }
    }

    private mutating func add(_ gesture: Conformance.Gesture, _ phone: String, _ exchange: Exchange)
    {
        let event = PageEvent(
            sequence: exchange.sequence,
            phone: phone,
            time: exchange.invoked,
            text: gesture.text ?? ""
        )
        switch gesture.kind {
        case .pageError: errors.append(event)
        case .pageStarted: starts.append(event)
        case .pageLoaded: loads.append(event)
        case .strayCall: strayCalls.append(event)
        case .called:
            callbacks.append(
                Callback(
                    sequence: exchange.sequence,
                    phone: phone,
                    function: event.text,
                    isHeard: gesture.missing == nil
                )
            )
        case .act:
            gestures.append(
                Gesture(
                    sequence: exchange.sequence,
                    phone: phone,
                    name: gesture.name,
                    time: exchange.invoked,
                    missing: gesture.missing
                )
            )
        }
    }

    private static func phone(_ exchange: Exchange) -> String { exchange.phone?.name ?? "phone" }

    private static func json(_ request: HTTPMessage.Request) -> JSONValue {
        (try? JSONValue(parsing: request.body)) ?? .null
    }

    private mutating func add(command exchange: Exchange) {
        let body = Self.json(exchange.request)
        guard let text = body["command"]?.string else { return }
        commands.append(
            Command(
                sequence: exchange.sequence,
                phone: exchange.phone?.name ?? body["device"]?.string ?? "phone",
                load: exchange.phone?.load ?? body["load"]?.string ?? "",
                time: exchange.invoked,
                bridge: BridgeCommand(text)
            )
        )
        let replies = exchange.answeredJSON?["replies"]?.array ?? []
        let isResult = replies.contains { reply in
            switch reply["value"] {
            case .string(let text): text != "n/a"
            case .array(let elements): !elements.isEmpty
            case .object(let object): !object.members.isEmpty
            case nil: false
            default: true
            }
        }
        if isResult { results.insert(exchange.sequence) }
        if let delay = replies.compactMap({ $0["delay"]?.int64 }).max() {
            replyDelays[exchange.sequence] = delay * 1000
        }
    }

    /// Where the profile's requests and answers hold what the rules look at.
    private struct Fields {
        let register: [String: JSONPointer]
        let login: [String: JSONPointer]
        let registeredID: JSONPointer

        init(_ profile: Profile) {
            register = profile.places(in: "register")
            login = profile.places(in: "login")
            registeredID =
                profile.endpoints["register"]?.answerID ?? register["id"]
                ?? JSONPointer(tokens: ["appUserId"])
        }
    }

    private mutating func add(registration exchange: Exchange, _ fields: Fields) {
        let body = Self.json(exchange.request)
        func text(_ name: String) -> String? {
            guard let pointer = fields.register[name], let value = body[pointer] else { return nil }
            return value.string ?? (value.isNull ? nil : value.text)
        }
        let status = exchange.response?.status
        let answered = exchange.answeredJSON?[fields.registeredID]?.string
        registrations.append(
            Registration(
                sequence: exchange.sequence,
                phone: Self.phone(exchange),
                load: exchange.phone?.load ?? "",
                sent: exchange.invoked,
                answered: exchange.completed,
                id: text("id"),
                device: text("device"),
                platform: text("platform"),
                source: text("source"),
                status: status,
                isAcknowledged: status.map { (200..<300).contains($0) } == true
                    && (answered == nil || answered == text("id"))
            )
        )
    }

    private mutating func add(login exchange: Exchange, _ fields: Fields) {
        let body = Self.json(exchange.request)
        logins.append(
            Login(
                sequence: exchange.sequence,
                phone: Self.phone(exchange),
                sent: exchange.invoked,
                answered: exchange.completed,
                current: fields.login["id"].flatMap { body[$0] }?.string
            )
        )
    }

    // MARK: Questions

    /// When a phone's first page could do what it was written for.
    ///
    /// Its scripts have run, or it does something already; what came before was the browser's, and
    /// the network's.
    package func readiness(of phone: String) -> Int64? {
        let load = loads.first { $0.phone == phone }?.time
        // Only a browser tells of documents.
        guard load != nil || starts.contains(where: { $0.phone == phone }) else { return nil }
        let signs =
            commands.filter { $0.phone == phone }.map(\.time)
            + registrations.filter { $0.phone == phone }.map(\.sent)
        return (signs + [load].compactMap { $0 }).min()
    }

    /// Whether a phone's app said anything between two entries.
    package func isActive(_ phone: String, from first: Int, to last: Int) -> Bool {
        func isBetween(_ sequence: Int) -> Bool { sequence > first && sequence < last }
        return commands.contains { $0.phone == phone && isBetween($0.sequence) }
            || registrations.contains { $0.phone == phone && isBetween($0.sequence) }
            || logins.contains { $0.phone == phone && isBetween($0.sequence) }
    }

    /// Whether a phone's page became another document between two entries, by itself or because
    /// somebody opened the app anew.
    package func isRenewed(_ phone: String, from first: Int, to last: Int) -> Bool {
        starts.contains { $0.phone == phone && $0.sequence > first && $0.sequence < last }
    }

    /// Whether the native side owes a reply, or has given one that is no result.
    package var hasOpenQuestion: Bool {
        commands.contains {
            ["readvault", "getpurchasehistory"].contains($0.bridge.scheme)
                && !results.contains($0.sequence)
        }
    }

    /// Every phone that took part.
    package var names: [String] {
        var names: [String] = []
        for name in gestures.map(\.phone) + commands.map(\.phone) + phones.keys.sorted()
        where !names.contains(name) {
            names.append(name)
        }
        return names
    }

    /// The app user id that a command writes to the vault; nil for any other command.
    package func writtenID(_ command: Command) -> String? {
        guard command.bridge.scheme == "setvault", command.bridge["key"] == keys[.id] else {
            return nil
        }
        return command.bridge["value"] ?? ""
    }

    /// The id that a command attaches to the phone at OneSignal; nil for any other command.
    package func aliasedID(_ command: Command) -> String? {
        command.bridge.scheme == "setonesignalplayerid"
            ? command.bridge["user_id"] ?? "" : nil
    }

    /// What the phone's vault holds under a role, in the end.
    package func vault(_ role: PhoneChange.VaultRole, of phone: String) -> String? {
        keys[role].flatMap { phones[phone]?["vaultLocal"]?[$0]?["value"]?.string }
    }

    /// What the vault held under a role before the app was first opened.
    package func heldAtFirst(_ role: PhoneChange.VaultRole, by phone: String) -> String? {
        keys[role].flatMap { firstPhones[phone]?["vaultLocal"]?[$0]?["value"]?.string }
    }

    package func externalID(of phone: String) -> String? { phones[phone]?["externalId"]?.string }

    package func installID(of phone: String) -> String? { phones[phone]?["installUuid"]?.string }

    package func lastAcknowledged(of phone: String) -> Registration? {
        registrations.last { $0.phone == phone && $0.isAcknowledged }
    }

    /// The id that the phone's app ends with: the last one that it told anybody.
    package func finalID(of phone: String) -> String? { told(by: phone).max { $0.0 < $1.0 }?.1 }

    /// The id that the phone's app began with.
    package func firstID(of phone: String) -> String? { told(by: phone).min { $0.0 < $1.0 }?.1 }

    private func told(by phone: String) -> [(Int, String)] {
        commands.filter { $0.phone == phone }.compactMap { command in
            (writtenID(command) ?? aliasedID(command)).map { (command.sequence, $0) }
        }
            + registrations.filter { $0.phone == phone }.compactMap { call in
                call.id.map { (call.sequence, $0) }
            }
    }

    /// What a bridge writes for nothing (Despia fact sheet, section 1.4).
    private static let nothing = "n/a"

    /// Whether an app user id names one person.
    package static func isUsable(_ id: String) -> Bool {
        let trimmed = id.trimmingBlanks
        return trimmed == id && id.count <= 100 && !id.contains("/")
            && !AppUserID.isBlocked(id) && id != nothing
    }
}

extension String {
    fileprivate var trimmingBlanks: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
