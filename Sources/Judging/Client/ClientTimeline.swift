package import Contracts
package import Providers
package import Values

/// The observations of one device scenario (a contract for an app on a simulated phone) in order:
/// the app's commands, its calls, and user actions.
///
/// All observations come from the journal. A command is a `POST /bridge` from the app to the Despia
/// runtime. A call is an exchange with the backend whose purpose names the route. User actions, the
/// page's content and the phone's state are journal entries that Assay wrote.
package struct ClientTimeline: Sendable {
    package struct Command: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let load: String
        /// The time at which the command arrived at the native side, in microseconds since the
        /// journal began.
        package let time: Int64
        package let bridge: BridgeCommand

        /// The name of the command, which is its scheme and path: `revenuecat://launchPaywall`.
        package var name: String {
            bridge.path.isEmpty ? bridge.scheme : "\(bridge.scheme)://\(bridge.path)"
        }

        package var isPaywall: Bool {
            name == "revenuecat://launchPaywall" || name == "revenuecat://purchase"
        }
    }

    /// A call of the app that registers its user at the backend.
    package struct Registration: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let load: String
        package let sendTime: Int64
        package let answered: Int64?
        package let id: String?
        package let deviceID: String?
        package let platform: String?
        package let source: String?
        package let status: Int?
        /// Whether the backend confirmed the registration (clause C-12): the response is a 2xx and
        /// its body contains the registered ID or no ID at all.
        package let isAcknowledged: Bool
    }

    package struct Login: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let sendTime: Int64
        package let answered: Int64?
        package let currentID: String?
    }

    /// A user action in the app, with its position in the journal.
    package struct UserAction: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let name: String
        package let time: Int64
        /// The selector of the element to tap when the page does not have it; otherwise nil.
        package let missingElement: String?

        /// Whether the action opened or reloaded the app's page.
        package var isLaunch: Bool { ["launch", "reload"].contains(name) }
    }

    /// An event of an app's page, with the text that the page reported.
    package struct PageEvent: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let time: Int64
        package let text: String
    }

    /// A callback: a call of the native side to a function of the page.
    package struct Callback: Hashable, Sendable {
        package let sequence: Int
        package let phone: String
        package let function: String
        /// Whether the page has the function that the native side called.
        package let isFunctionDefined: Bool
    }

    package private(set) var commands: [Command] = []
    /// The commands that the page assigned in the same task as the command before (Despia fact
    /// sheet, section 1.2).
    private(set) var commandsInTaskOfOther: [(sequence: Int, text: String)] = []
    package private(set) var registrations: [Registration] = []
    package private(set) var logins: [Login] = []
    package private(set) var userActions: [UserAction] = []
    package private(set) var pageErrors: [PageEvent] = []
    /// The starts of page documents, reported when a document was about to run its first script; a
    /// page that reloads itself has several.
    package private(set) var documentStarts: [PageEvent] = []
    /// The loads of page documents, reported when all scripts of a document have run.
    package private(set) var documentLoads: [PageEvent] = []
    package private(set) var callbacks: [Callback] = []
    /// The requests of the page that match no route of the profile.
    package private(set) var unroutedRequests: [PageEvent] = []
    /// The state of each phone at the end of the scenario, as the fake Despia runtime returned it,
    /// by phone name.
    package private(set) var phones: [String: JSONValue] = [:]
    /// The state of each phone before the app was first opened, by phone name.
    package private(set) var initialPhoneStates: [String: JSONValue] = [:]
    /// The delay of the native side's reply in microseconds, by the command's sequence number.
    ///
    /// Commands without a reply are left out.
    package private(set) var replyDelaysInMicroseconds: [Int: Int64] = [:]
    /// The sequence numbers of the commands whose reply the app's bridge package accepts as a
    /// result (Despia fact sheet, section 1.4).
    private var sequencesOfResultCommands: Set<Int> = []
    /// The final content of each phone's page, by phone name; the member names are those of
    /// `AppExpectation.Screen.Element`.
    package private(set) var screensByPhone: [String: JSONValue] = [:]

    /// The vault key of each role.
    ///
    /// Roles are, for example, the user's ID and the lock.
    package let keys: [VaultRole: String]

    package init(_ record: RunRecord, profile: Profile) {
        self.init(record.exchanges, profile: profile)
    }

    package init(_ exchanges: [Exchange], profile: Profile) {
        keys = profile.app.vaultKeys
        let fields = FieldPointers(profile)
        for exchange in exchanges { add(exchange, fields) }
    }

    // MARK: Reading

    private mutating func add(_ exchange: Exchange, _ fields: FieldPointers) {
        switch exchange.entry {
        case .userAction(let userAction, let phone): add(userAction, phone.name, exchange)
        case .screen(let screenContent, let phone): screensByPhone[phone.name] = screenContent
        case .observation(_, let phone) where exchange.to == .despia:
            phones[phone] = exchange.responseJSON
            if initialPhoneStates[phone] == nil { initialPhoneStates[phone] = phones[phone] }
        case .exchange where exchange.from == .app && exchange.to == .despia:
            add(command: exchange)
        case .exchange where exchange.from == .app && exchange.to == .backend:
            if exchange.purpose == .appCall("register") { add(registration: exchange, fields) }
            if exchange.purpose == .appCall("login") { add(login: exchange, fields) }
        case .exchange, .observation, .restart: break
        }
    }

    private mutating func add(
        _ userAction: Values.UserAction,
        _ phone: String,
        _ exchange: Exchange
    ) {
        let event = PageEvent(
            sequence: exchange.sequence,
            phone: phone,
            time: exchange.invoked,
            text: userAction.text ?? ""
        )
        switch userAction.kind {
        case .pageError: pageErrors.append(event)
        case .pageStarted: documentStarts.append(event)
        case .pageLoaded: documentLoads.append(event)
        case .unmatchedRequest: unroutedRequests.append(event)
        case .called:
            callbacks.append(
                Callback(
                    sequence: exchange.sequence,
                    phone: phone,
                    function: event.text,
                    isFunctionDefined: userAction.missingElement == nil
                )
            )
        case .act:
            userActions.append(
                UserAction(
                    sequence: exchange.sequence,
                    phone: phone,
                    name: userAction.name,
                    time: exchange.invoked,
                    missingElement: userAction.missingElement
                )
            )
        }
    }

    private static func phone(_ exchange: Exchange) -> String { exchange.phone?.name ?? "phone" }

    private static func bodyJSON(_ request: HTTPMessage.Request) -> JSONValue {
        request.bodyJSON ?? .null
    }

    private mutating func add(command exchange: Exchange) {
        let body = Self.bodyJSON(exchange.request)
        guard let text = body["command"]?.string else { return }
        if exchange.responseJSON?["sameTask"] == true {
            commandsInTaskOfOther.append((exchange.sequence, text))
            // The native side never receives a command that another command swallows.
            if exchange.responseJSON?["dropped"] == true { return }
        }
        commands.append(
            Command(
                sequence: exchange.sequence,
                phone: exchange.phone?.name ?? body["device"]?.string ?? "phone",
                load: exchange.phone?.load ?? body["load"]?.string ?? "",
                time: exchange.invoked,
                bridge: BridgeCommand(text)
            )
        )
        let replies = exchange.responseJSON?["replies"]?.array ?? []
        let hasResultReply = replies.contains { reply in
            switch reply["value"] {
            case .string(let text): text != "n/a"
            case .array(let elements): !elements.isEmpty
            case .object(let object): !object.members.isEmpty
            case nil: false
            default: true
            }
        }
        if hasResultReply { sequencesOfResultCommands.insert(exchange.sequence) }
        if let delay = replies.compactMap({ $0["delay"]?.int64 }).max() {
            replyDelaysInMicroseconds[exchange.sequence] = delay * 1000
        }
    }

    /// The JSON paths of the judged fields in the app's requests and in the backend's responses, as
    /// the profile defines them.
    private struct FieldPointers {
        let registerPointers: [String: JSONPointer]
        let login: [String: JSONPointer]
        let registeredIDPointer: JSONPointer

        init(_ profile: Profile) {
            registerPointers = profile.pointersByTemplateName(in: "register")
            login = profile.pointersByTemplateName(in: "login")
            registeredIDPointer =
                profile.endpoints["register"]?.responseIDPointer ?? registerPointers["id"]
                ?? JSONPointer(tokens: ["appUserId"])
        }
    }

    private mutating func add(registration exchange: Exchange, _ fields: FieldPointers) {
        let body = Self.bodyJSON(exchange.request)
        func text(_ name: String) -> String? {
            guard let pointer = fields.registerPointers[name], let value = body[pointer] else {
                return nil
            }
            return value.string ?? (value.isNull ? nil : value.text)
        }
        let status = exchange.response?.status
        let returnedID = exchange.responseJSON?[fields.registeredIDPointer]?.string
        registrations.append(
            Registration(
                sequence: exchange.sequence,
                phone: Self.phone(exchange),
                load: exchange.phone?.load ?? "",
                sendTime: exchange.invoked,
                answered: exchange.completed,
                id: text("id"),
                deviceID: text("device"),
                platform: text("platform"),
                source: text("source"),
                status: status,
                isAcknowledged: status.map { (200..<300).contains($0) } == true
                    && (returnedID == nil || returnedID == text("id"))
            )
        )
    }

    private mutating func add(login exchange: Exchange, _ fields: FieldPointers) {
        let body = Self.bodyJSON(exchange.request)
        logins.append(
            Login(
                sequence: exchange.sequence,
                phone: Self.phone(exchange),
                sendTime: exchange.invoked,
                answered: exchange.completed,
                currentID: fields.login["id"].flatMap { body[$0] }?.string
            )
        )
    }

    // MARK: Queries

    /// Returns the time at which a phone's first page was ready, in microseconds since the journal
    /// began; nil for an app without a browser.
    ///
    /// A page is ready when its scripts have run, or when it has sent its first command or
    /// registration. The time before that is spent by the browser and the network.
    package func readyTime(of phone: String) -> Int64? {
        let load = documentLoads.first { $0.phone == phone }?.time
        // Only a browser reports the loading of documents.
        guard load != nil || documentStarts.contains(where: { $0.phone == phone }) else {
            return nil
        }
        let readinessTimes =
            commands.filter { $0.phone == phone }.map(\.time)
            + registrations.filter { $0.phone == phone }.map(\.sendTime)
        return (readinessTimes + [load].compactMap { $0 }).min()
    }

    /// Whether a phone's app sent a command, registration or login between two entries of the
    /// journal.
    package func isActive(_ phone: String, from first: Int, to last: Int) -> Bool {
        func isBetween(_ sequence: Int) -> Bool { sequence > first && sequence < last }
        return commands.contains { $0.phone == phone && isBetween($0.sequence) }
            || registrations.contains { $0.phone == phone && isBetween($0.sequence) }
            || logins.contains { $0.phone == phone && isBetween($0.sequence) }
    }

    /// Whether a phone's page was replaced by a new document between two entries of the journal.
    ///
    /// This happens when the page reloads itself or the app is opened again.
    package func hasLoadedNewDocument(_ phone: String, from first: Int, to last: Int) -> Bool {
        documentStarts.contains { $0.phone == phone && $0.sequence > first && $0.sequence < last }
    }

    /// Whether a read of the vault or the purchase history has no reply yet, or got a reply that is
    /// not a result.
    package var hasUnansweredRead: Bool {
        commands.contains {
            ["readvault", "getpurchasehistory"].contains($0.bridge.scheme)
                && !sequencesOfResultCommands.contains($0.sequence)
        }
    }

    /// The names of all phones in the scenario.
    package var names: [String] {
        var names: [String] = []
        for name in userActions.map(\.phone) + commands.map(\.phone) + phones.keys.sorted()
        where !names.contains(name) {
            names.append(name)
        }
        return names
    }

    /// Returns the app user ID that a command writes to the vault; nil for any other command.
    package func idWrittenToVault(_ command: Command) -> String? {
        guard command.bridge.scheme == "setvault", command.bridge["key"] == keys[.id] else {
            return nil
        }
        return command.bridge["value"] ?? ""
    }

    /// Returns the ID that a command sets as the phone's OneSignal alias; nil for any other
    /// command.
    package func idSetAsAlias(_ command: Command) -> String? {
        command.bridge.scheme == "setonesignalplayerid"
            ? command.bridge["user_id"] ?? "" : nil
    }

    /// Returns the value of a phone's vault entry at the end of the scenario; nil when there is
    /// none.
    package func finalVaultValue(_ role: VaultRole, of phone: String) -> String? {
        keys[role].flatMap { phones[phone]?["vaultLocal"]?[$0]?["value"]?.string }
    }

    /// Returns the value of a phone's vault entry before the app was first opened; nil when there
    /// was none.
    package func initialVaultValue(_ role: VaultRole, by phone: String) -> String? {
        keys[role].flatMap { initialPhoneStates[phone]?["vaultLocal"]?[$0]?["value"]?.string }
    }

    package func externalID(of phone: String) -> String? { phones[phone]?["externalId"]?.string }

    package func installID(of phone: String) -> String? { phones[phone]?["installUuid"]?.string }

    package func lastAcknowledgedRegistration(of phone: String) -> Registration? {
        registrations.last { $0.phone == phone && $0.isAcknowledged }
    }

    /// Returns the last ID that the phone's app sent to the vault, OneSignal or the backend.
    package func finalID(of phone: String) -> String? { sentIDs(by: phone).max { $0.0 < $1.0 }?.1 }

    /// Returns the first ID that the phone's app sent to the vault, OneSignal or the backend.
    package func firstID(of phone: String) -> String? { sentIDs(by: phone).min { $0.0 < $1.0 }?.1 }

    private func sentIDs(by phone: String) -> [(Int, String)] {
        commands.filter { $0.phone == phone }.compactMap { command in
            (idWrittenToVault(command) ?? idSetAsAlias(command)).map { (command.sequence, $0) }
        }
            + registrations.filter { $0.phone == phone }.compactMap { call in
                call.id.map { (call.sequence, $0) }
            }
    }

    /// The value that the bridge returns for a vault entry that does not exist (Despia fact sheet,
    /// section 1.4).
    private static let absentVaultValue = "n/a"

    /// Whether an app user ID can identify exactly one user.
    package static func isUsable(_ id: String) -> Bool {
        let trimmed = id.trimmingBlanks
        return trimmed == id && id.count <= 100 && !id.contains("/")
            && !AppUserID.isBlocked(id) && id != absentVaultValue
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
