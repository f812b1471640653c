package import Conformance
internal import Providers

/// A device scenario of the scripted app, in virtual time: no socket, no clock, no browser.
///
/// Whatever an app would have to wait for takes no time, so that thirty silent seconds cost nothing.
package struct Simulation {
    private enum Event {
        case dispatch(String)
        case assign(String, JSONValue)
        case call(String, [JSONValue])
        case answer(Int, sequence: Int, Exchange.Outcome)
        case wake
        case input(ScriptedApp.Input)
    }

    private struct Scheduled {
        let time: Int64
        let order: Int
        let phone: String
        let page: Int
        let event: Event
    }

    private struct Page {
        let number: Int
        let launch: PhoneWorld.Launch
        let opened: Int64
        var app: ScriptedApp
        var wakes: Set<Int64> = []
    }

    private var world: PhoneWorld
    private let defects: Set<ClientDefect>
    private let profile: Profile
    private let seed: UInt64
    private var queue: [Scheduled] = []
    private var orderCount = 0
    /// Milliseconds since the scenario began.
    private var now: Int64 = 0
    /// Pages that are open, by phone; usually one.
    private var pages: [String: [Page]] = [:]
    private var pageCount = 0
    private var storages: [String: ScriptedApp.Storage] = [:]
    private var killAt: AppAction.KillPoint?
    /// Phones whose page dies instead of saying anything more.
    private var dies: Set<String> = []

    /// What a call to the backend takes, in milliseconds.
    private static let callTime: Int64 = 60
    /// So long, in milliseconds, an app is waited for after an act of its owner.
    private static let patience: Int64 = 90_000

    private init(
        _ plan: RunPlan,
        _ name: String,
        _ profile: Profile,
        _ base: Instant,
        _ defects: Set<ClientDefect>
    ) {
        var generator = SeededGenerator(seed: 0, text: name)
        seed = generator.next()
        world = PhoneWorld(name: name, profile: profile, base: base, seed: seed)
        self.defects = defects
        self.profile = profile
    }

    /// Carries a scenario out.
    ///
    /// - Parameters:
    ///   - plan: The contract's steps.
    ///   - name: The namespace of the run.
    ///   - profile: Endpoints, keys and budgets.
    ///   - base: The moment that relative times count from.
    ///   - defects: How the app deviates from a correct one.
    /// - Returns: What the run left behind.
    package static func run(
        _ plan: RunPlan,
        name: String,
        profile: Profile,
        base: Instant,
        defects: Set<ClientDefect> = []
    ) -> RunRecord {
        var simulation = Simulation(plan, name, profile, base, defects)
        simulation.carryOut(plan.steps)
        return RunRecord(
            plan: plan,
            namespace: simulation.world.namespace,
            base: base,
            began: base,
            ended: simulation.world.instant(simulation.now * 1000),
            exchanges: simulation.world.exchanges,
            settling: .notNeeded
        )
    }

    private var time: Int64 { now * 1000 }

    private mutating func carryOut(_ steps: [Step]) {
        for step in steps {
            switch step {
            case .name(let user, let id): world.assign(id, to: user)
            case .phone(.phone(let change)):
                let calls = world.apply(change, at: time)
                if change.act == .reinstall {
                    storages[change.phone] = nil
                    pages[change.phone] = nil
                }
                schedule(calls, phone: change.phone, page: nil)
                if change.act != nil { settle() }
            case .phone(.bridge(let plan)): world.apply(plan)
            case .phone(.backend(let plan)): world.backend.take(plan)
            case .phone(.app(let action)): act(action)
            default: break
            }
        }
        settle()
        for phone in pages.keys.sorted() {
            world.screen(pages[phone]?.last?.app.screen ?? .null, phone, at: time)
        }
        for phone in world.phones { world.observe(phone, at: time) }
    }

    // MARK: Acts

    private mutating func act(_ action: AppAction) {
        let phone = action.phone
        killAt = action.killedAt
        switch action.name {
        case .launch:
            pages[phone] = nil
            open(phone, isReload: false)
        case .launchTwice:
            pages[phone] = nil
            open(phone, isReload: false)
            open(phone, isReload: false)
        case .reload:
            keep(phone)
            pages[phone] = nil
            open(phone, isReload: true)
        case .kill:
            world.gesture("kill", phone, at: time)
            keep(phone)
            pages[phone] = nil
        case .upgrade: tap("upgrade", .upgrade, phone)
        case .upgradeTwice:
            tap("upgrade", .upgrade, phone)
            run(until: now + 50)
            tap("upgrade", .upgrade, phone)
        case .purchase:
            tap("upgrade", .upgrade, phone)
            settle()
            var change = PhoneChange()
            change.phone = phone
            change.act = .complete
            schedule(world.apply(change, at: time), phone: phone, page: nil)
        case .restore: tap("restore", .restore, phone)
        case .logout: tap("logout", .logout, phone)
        case .status: tap("status", .status, phone)
        case .login:
            let account = world.namespace.accountID(of: action.account ?? "")
            let password = world.namespace.password(of: action.account ?? "")
            tap(
                "login",
                .login(account: account, password: password, agrees: action.agrees),
                phone
            )
        case .callback:
            world.gesture("callback", phone, at: time)
            let arguments = action.argument.map { [$0] } ?? []
            // The result channel always carries its envelope.
            let names =
                ["onRevenueCatPurchase", "iapSuccess"]
                + (action.argument == nil ? [] : ["onRevenueCatResult"])
            for page in pages[phone] ?? [] {
                for name in names {
                    add(now, phone, page.number, .call(name, arguments))
                }
            }
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount, .refresh: break
        case .wait:
            world.gesture("wait", phone, at: time)
            run(until: now + (action.time ?? .zero).milliseconds)
        }
        if !action.isAtOnce { settle() }
    }

    private mutating func tap(_ name: String, _ input: ScriptedApp.Input, _ phone: String) {
        world.gesture(name, phone, at: time)
        for page in pages[phone] ?? [] { deliver(.input(input), phone, page.number) }
    }

    private mutating func open(_ phone: String, isReload: Bool) {
        let launch = world.launch(phone, isReload: isReload, at: time)
        pageCount += 1
        let device = launch.device
        var globals = device["globals"]?.object ?? JSONObject()
        for (name, delay) in (device["globalDelays"]?.object?.members ?? []).map({
            ($0.key, $0.value.int64 ?? 0)
        }) where delay > 0 {
            guard let value = globals[name] else { continue }
            globals[name] = nil
            add(now + delay, phone, pageCount, .assign(name, value))
        }
        var generator = SeededGenerator(seed: seed, text: "\(phone)/\(pageCount)")
        let app = ScriptedApp(
            globals: globals,
            userAgent: device["userAgent"]?.string ?? "",
            keys: profile.app.vaultKeys,
            storage: storages[phone] ?? ScriptedApp.Storage(),
            defects: defects,
            seed: generator.next()
        )
        let page = Page(number: pageCount, launch: launch, opened: now, app: app)
        pages[phone, default: []].append(page)
        change(phone, page.number) { $0.start(at: $1) }
    }

    /// What the page has stored outlives it.
    private mutating func keep(_ phone: String) {
        if let page = pages[phone]?.last { storages[phone] = page.app.storage }
    }

    // MARK: Events

    private mutating func add(_ time: Int64, _ phone: String, _ page: Int, _ event: Event) {
        orderCount += 1
        queue.append(
            Scheduled(time: time, order: orderCount, phone: phone, page: page, event: event)
        )
    }

    /// Lets everything happen that follows from what has happened.
    private mutating func settle() { run(until: now + Self.patience, stopsWhenQuiet: true) }

    private mutating func run(until end: Int64, stopsWhenQuiet: Bool = false) {
        while let next = queue.indices.min(by: {
            (queue[$0].time, queue[$0].order) < (queue[$1].time, queue[$1].order)
        }), queue[next].time <= end {
            let scheduled = queue.remove(at: next)
            now = max(now, scheduled.time)
            deliver(scheduled.event, scheduled.phone, scheduled.page)
        }
        if !stopsWhenQuiet { now = max(now, end) }
    }

    private mutating func deliver(_ event: Event, _ phone: String, _ number: Int) {
        guard let page = pages[phone]?.first(where: { $0.number == number }) else {
            // The page is gone, and what was meant for it is lost; the backend answered all the same.
            if case .answer(_, let sequence, let outcome) = event {
                world.complete(sequence, outcome, at: time)
            }
            return
        }
        switch event {
        case .dispatch(let text): dispatch(text, page)
        case .assign(let name, let value):
            change(phone, number) { $0.handle(.assigned(name, value), at: $1) }
        case .call(let name, let arguments):
            change(phone, number) { $0.handle(.called(name, arguments), at: $1) }
        case .answer(let call, let sequence, let outcome):
            world.complete(sequence, outcome, at: time)
            answer(call, sequence, outcome, phone, number)
        case .wake: change(phone, number) { $0.handle(.tick, at: $1) }
        case .input(let input): change(phone, number) { $0.handle(input, at: $1) }
        }
    }

    private mutating func answer(
        _ call: Int,
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        _ phone: String,
        _ number: Int
    ) {
        let exchange = world.exchanges[sequence]
        if killAt == .loggedIn, exchange.purpose == .appCall("login") { dies.insert(phone) }
        if killAt == .registered, exchange.purpose == .appCall("register") {
            return kill(phone)
        }
        if case .answered(let response) = outcome {
            let body = (try? JSONValue(parsing: response.body)) ?? .null
            change(phone, number) {
                $0.handle(.answered(call, status: response.status, body), at: $1)
            }
        } else {
            change(phone, number) { $0.handle(.answered(call, status: nil, .null), at: $1) }
        }
    }

    private mutating func kill(_ phone: String) {
        killAt = nil
        dies.remove(phone)
        keep(phone)
        world.gesture("kill", phone, at: time)
        pages[phone] = nil
    }

    private mutating func dispatch(_ text: String, _ page: Page) {
        let phone = page.launch.phone
        if dies.contains(phone) { return kill(phone) }
        let reply = world.command(
            text,
            phone,
            load: page.launch.load,
            page: now - page.opened,
            at: time
        )
        schedule(reply["replies"]?.array ?? [], phone: phone, page: page.number)
        let command = BridgeCommand(text)
        if killAt == .idWritten, command.scheme == "setvault",
            command["key"] == world.key(.id)
        {
            kill(phone)
        }
    }

    /// What the native side writes and calls, after its delay.
    private mutating func schedule(_ replies: [JSONValue], phone: String, page: Int?) {
        let numbers = page.map { [$0] } ?? (pages[phone] ?? []).map(\.number)
        for reply in replies {
            let name = reply["name"]?.string ?? ""
            let delay = max(1, reply["delay"]?.int64 ?? 0)
            let event: Event =
                reply["kind"] == "callback"
                ? .call(name, reply["arguments"]?.array ?? [])
                : .assign(name, reply["value"] ?? .null)
            for number in numbers { add(now + delay, phone, number, event) }
        }
    }

    /// Lets a page go on, and takes what it says.
    private mutating func change(
        _ phone: String,
        _ number: Int,
        _ body: (inout ScriptedApp, Int64) -> [ScriptedApp.Output]
    ) {
        guard var list = pages[phone], let index = list.firstIndex(where: { $0.number == number })
        else { return }
        // Two pages of one phone share its web storage.
        if list.count > 1, let storage = storages[phone] { list[index].app.storage = storage }
        let outputs = body(&list[index].app, now)
        storages[phone] = list[index].app.storage
        let page = list[index]
        if let wake = page.app.wakeAt, !page.wakes.contains(wake) {
            list[index].wakes.insert(wake)
            add(max(now, wake), phone, number, .wake)
        }
        pages[phone] = list
        for output in outputs {
            switch output {
            case .command(let text, let at): add(max(now, at), phone, number, .dispatch(text))
            case .call(let call, let route, let values): send(call, route, values, page)
            case .error(let text): world.pageError(text, phone, at: time)
            }
        }
    }

    private mutating func send(
        _ call: Int,
        _ route: String,
        _ values: [String: String],
        _ page: Page
    ) {
        let phone = page.launch.phone
        if dies.contains(phone) { return kill(phone) }
        let endpoint =
            route == "access"
            ? profile.app.access.map { Profile.Endpoint(method: $0.method, path: $0.path) }
            : profile.endpoints[route]
        guard let endpoint else { return }
        let request = endpoint.request(values.mapValues { $0 }, idForm: profile.idForm)
        let (sequence, answer) = world.call(
            route,
            request,
            phone,
            load: page.launch.load,
            at: time
        )
        switch answer {
        case .answered(let response, let delay):
            let moment = now + Self.callTime + delay.milliseconds
            add(
                moment,
                phone,
                page.number,
                .answer(call, sequence: sequence, .answered(response))
            )
        case .reset:
            add(
                now + Self.callTime,
                phone,
                page.number,
                .answer(call, sequence: sequence, .failed(.closed, "by plan"))
            )
        case .never: break
        }
    }
}
