internal import Browser
internal import Conformance
internal import FakeServers
internal import Phone
internal import Providers

/// What pages say: commands, errors, and calls that are held until somebody answers them.
extension BrowserScenario {
    func take(_ event: DevTools.Event, _ page: BrowserPage) async {
        let parameters = event.parameters
        switch event.method {
        case "Runtime.bindingCalled":
            guard let text = parameters["payload"]?.string,
                let content = try? JSONValue(parsing: text)
            else { return }
            said(content, page)
        case "Fetch.requestPaused":
            guard let request = PageRequest(parameters) else { return }
            page.hold(request.number)
            await hold(request, page)
        case "Page.frameRequestedNavigation":
            // A page may also send its commands by going there (section 7.1).
            guard let url = parameters["url"]?.string,
                let scheme = url.split(separator: ":").first.map(String.init),
                BridgeCommand.schemes.contains(scheme)
            else { return }
            command(url, time: 0, page)
        case "Page.javascriptDialogOpening":
            let kind = parameters["type"]?.string ?? ""
            let agrees = state.withLock { $0.agrees }
            page.say(
                "Page.handleJavaScriptDialog",
                ["accept": .bool(["alert", "beforeunload"].contains(kind) || agrees)]
            )
        case "Page.loadEventFired":
            if let number { setting.admission.isOpen(number) }
            edit { state, time in
                state.lastSign = time
                state.loaded.insert(page.session)
                state.world.write(.pageLoaded, on: page.phone, at: time)
            }
        case "Network.loadingFailed":
            // The page gave up waiting, or is gone.
            guard parameters["canceled"] == true, let number = parameters["requestId"]?.string,
                let sequence = state.withLock({ $0.calls[page.session + number] })
            else { return }
            finish(sequence, .failed(.closed, "the page gave it up"))
        case "Inspector.targetCrashed":
            edit { state, time in
                state.world.write(.pageError("the page crashed"), on: page.phone, at: time)
                state.pages[page.phone]?.removeAll { $0 === page }
            }
        // A browser tells of more than anybody asked for.
        default: break
        }
    }

    private func said(_ content: JSONValue, _ page: BrowserPage) {
        switch content["kind"]?.string {
        case "start":
            edit { state, time in
                state.lastSign = time
                state.world.write(.pageStarted, on: page.phone, at: time)
            }
        case "command":
            command(content["command"]?.string ?? "", time: content["page"]?.int64 ?? 0, page)
        case "called":
            edit { state, time in
                let call = Gesture.called(
                    content["name"]?.string ?? "",
                    exists: content["exists"] == true
                )
                state.world.write(call, on: page.phone, at: time)
            }
        case "error":
            edit { state, time in
                let text = content["text"]?.string ?? ""
                state.world.write(.pageError(text), on: page.phone, at: time)
            }
        // The binding is open to every script of the page, and only ours says these.
        default: break
        }
    }

    private func command(_ text: String, time page: Int64, _ from: BrowserPage) {
        if dies(from) { return }
        let (reply, isKilled) = edit { state, time -> (JSONValue, Bool) in
            state.lastSign = time
            let reply = state.world.command(text, from: from.ref, pageTime: page, at: time)
            let delays = (reply["replies"]?.array ?? []).compactMap { $0["delay"]?.int64 }
            if let last = delays.max() {
                state.repliesUntil = max(state.repliesUntil, time + last * 1000 + 50_000)
            }
            let isKilled = state.kills.took(BridgeCommand(text), idKey: state.world.key(.id))
            return (reply, isKilled)
        }
        if isKilled { return kill(from) }
        from.apply(reply)
    }

    /// Whether the page dies instead of saying this.
    private func dies(_ page: BrowserPage) -> Bool {
        let dies = state.withLock { $0.kills.isDying(page.phone) }
        if dies { kill(page) }
        return dies
    }

    private func kill(_ page: BrowserPage) {
        edit { state, time in
            state.kills.end(page.phone)
            state.world.write(Gesture("kill"), on: page.phone, at: time)
            state.pages[page.phone]?.removeAll { $0 === page }
        }
        page.close()
    }

    // MARK: The page's calls

    private func hold(_ request: PageRequest, _ page: BrowserPage) async {
        if request.answeredStatus != nil || request.failure != nil {
            return await answered(request, page)
        }
        if let host = request.host, !LoopbackHost.isLoopback(host),
            !setting.allowedHosts.contains(host)
        {
            setting.blockedHosts.withLock { _ = $0.insert(host) }
            return refuse(request, page)
        }
        let route = state.withLock {
            $0.world.backend.route(request.message.method, request.message.target)
        }
        guard let route else {
            if request.message.method == "OPTIONS", request.origin != nil {
                return preflight(request, page)
            }
            if request.isScripted {
                edit { state, time in
                    let call = request.message.method + " " + request.message.path
                    state.world.write(.strayCall(call), on: page.phone, at: time)
                }
            }
            return page.say("Fetch.continueRequest", ["requestId": .string(request.number)])
        }
        if dies(page) { return }
        let (sequence, answer) = edit { state, time in
            state.lastSign = time
            let (sequence, answer): (Int, AppBackend.Answer?)
            if profile.app.usesOwnBackend {
                (sequence, answer) =
                    state.world.pass(route, request.message, from: page.ref, at: time)
            } else {
                (sequence, answer) =
                    state.world.call(route, request.message, from: page.ref, at: time)
            }
            // What is never answered is waited for by nobody.
            state.open[sequence] = answer != .never
            if let number = request.networkNumber {
                state.calls[page.session + number] = sequence
            }
            return (sequence, answer)
        }
        switch answer {
        case nil:
            state.withLock { $0.passed[page.session + request.number] = sequence }
            page.say(
                "Fetch.continueRequest",
                ["requestId": .string(request.number), "interceptResponse": true]
            )
        case .reset?:
            finish(sequence, .failed(.closed, "by plan"))
            refuse(request, page, reason: "ConnectionReset")
        case .never?: break
        case .answered(let response, let delay)?:
            if delay > .zero {
                // The plan says how long this answer takes.
                let clock = clock
                let task = clock.task { [weak self] in
                    await clock.pause(delay)
                    self?.answer(request, response, sequence, route, page)
                }
                state.withLock { $0.tasks.append(task) }
            } else {
                self.answer(request, response, sequence, route, page)
            }
        }
    }

    /// A call is over; what becomes of it after that, nobody hears.
    private func finish(_ sequence: Int, _ outcome: Exchange.Outcome) {
        edit { state, time in
            state.lastSign = time
            guard state.open.removeValue(forKey: sequence) != nil else { return }
            state.world.complete(sequence, outcome, at: time)
        }
    }

    private func answer(
        _ request: PageRequest,
        _ response: HTTPMessage.Response,
        _ sequence: Int,
        _ route: String,
        _ page: BrowserPage
    ) {
        finish(sequence, .answered(response))
        if isKilled(at: route, page) { return }
        fulfil(request, response, page)
    }

    /// Whether an answer to that route is where the page is to die.
    private func isKilled(at route: String, _ page: BrowserPage) -> Bool {
        let isKilled = state.withLock { $0.kills.answered(route, on: page.phone) }
        guard isKilled else { return false }
        kill(page)
        return true
    }

    private func fulfil(
        _ request: PageRequest,
        _ response: HTTPMessage.Response,
        _ page: BrowserPage
    ) {
        let fields = (response.fields + request.openHeaders).map { field -> JSONValue in
            ["name": .string(field.name), "value": .string(field.value)]
        }
        page.say(
            "Fetch.fulfillRequest",
            [
                "requestId": .string(request.number),
                "responseCode": .integer(Int64(response.status)),
                "responseHeaders": .array(fields), "body": .string(Base64.text(response.body)),
            ]
        )
    }

    private func refuse(
        _ request: PageRequest,
        _ page: BrowserPage,
        reason: String = "BlockedByClient"
    ) {
        page.say(
            "Fetch.failRequest",
            ["requestId": .string(request.number), "errorReason": .string(reason)]
        )
    }

    /// A page of another origin asks whether it may call.
    private func preflight(_ request: PageRequest, _ page: BrowserPage) {
        let wanted = request.message[field: "access-control-request-headers"] ?? "content-type"
        fulfil(
            request,
            HTTPMessage.Response(
                204,
                fields: [
                    HTTPMessage.Field("access-control-allow-methods", "GET, POST, PUT, DELETE"),
                    HTTPMessage.Field("access-control-allow-headers", wanted),
                ]
            ),
            page
        )
    }

    /// The page's own backend has answered.
    private func answered(_ request: PageRequest, _ page: BrowserPage) async {
        let sequence = state.withLock {
            $0.passed.removeValue(forKey: page.session + request.number)
        }
        if let sequence {
            if let status = request.answeredStatus {
                let held = await page.ask(
                    "Fetch.getResponseBody",
                    ["requestId": .string(request.number)]
                )
                let text = held?["body"]?.string ?? ""
                let body =
                    held?["base64Encoded"] == true
                    ? Base64.bytes(text) ?? [] : Array(text.utf8)
                finish(
                    sequence,
                    .answered(
                        HTTPMessage.Response(status, fields: request.answeredFields, body: body)
                    )
                )
            } else {
                finish(sequence, .failed(.closed, request.failure ?? ""))
            }
            let route = state.withLock {
                $0.world.backend.route(request.message.method, request.message.target)
            }
            if let route, isKilled(at: route, page) { return }
        }
        page.say("Fetch.continueResponse", ["requestId": .string(request.number)])
    }
}
