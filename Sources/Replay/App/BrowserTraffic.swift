internal import Browser
internal import Contracts
internal import FakeServers
internal import Phone
internal import Providers
internal import Values

/// Handles the events of pages: commands to the native runtime, errors, and requests to the
/// backend.
///
/// The browser holds each request until Assay decides its outcome.
extension BrowserScenario {
    func take(_ event: DevTools.Event, _ page: BrowserPage) async {
        let parameters = event.parameters
        switch event.method {
        case "Runtime.bindingCalled":
            guard let text = parameters["payload"]?.string,
                let messageContent = JSONValue(ifValid: text)
            else { return }
            handleMessage(messageContent, page)
        case "Fetch.requestPaused":
            guard let request = PageRequest(parameters) else { return }
            page.holdRequest(request.number)
            await holdRequest(request, page)
        case "Page.frameRequestedNavigation":
            // A page may also send a command by navigating to its URL (section 7.1 of the fact
            // sheet of the app runtime).
            guard let url = parameters["url"]?.string,
                let scheme = url.split(separator: ":").first.map(String.init),
                BridgeCommand.schemes.contains(scheme)
            else { return }
            command(url, time: 0, page)
        case "Page.javascriptDialogOpening":
            let dialogType = parameters["type"]?.string ?? ""
            let confirmsPrompts = state.withLock { $0.confirmsPrompts }
            page.postMethod(
                "Page.handleJavaScriptDialog",
                [
                    "accept": .bool(
                        ["alert", "beforeunload"].contains(dialogType) || confirmsPrompts
                    )
                ]
            )
        case "Page.loadEventFired":
            if let number { configuration.admission.recordFirstPageLoaded(number) }
            edit { state, time in
                state.lastActivityTime = time
                state.loadedSessions.insert(page.session)
                state.simulatedPhones.write(.pageLoaded, on: page.phone, at: time)
            }
        case "Network.loadingFailed":
            // The page has canceled the request, or the page was closed.
            guard parameters["canceled"] == true, let number = parameters["requestId"]?.string,
                let sequence = state.withLock({ $0.callSequencesByRequest[page.session + number] })
            else { return }
            completeExchange(sequence, .failed(.closed, "the page canceled the request"))
        case "Inspector.targetCrashed":
            edit { state, time in
                state.simulatedPhones.write(
                    .pageError("the page crashed"),
                    on: page.phone,
                    at: time
                )
                state.pages[page.phone]?.removeAll { $0 === page }
            }
        // The browser sends more kinds of events than a scenario needs.
        default: break
        }
    }

    private func handleMessage(_ messageContent: JSONValue, _ page: BrowserPage) {
        switch messageContent["kind"]?.string {
        case "start":
            edit { state, time in
                state.lastActivityTime = time
                state.simulatedPhones.write(.pageStarted, on: page.phone, at: time)
            }
        case "command":
            command(
                messageContent["command"]?.string ?? "",
                time: messageContent["page"]?.int64 ?? 0,
                page
            )
        case "called":
            edit { state, time in
                let call = UserAction.called(
                    messageContent["name"]?.string ?? "",
                    exists: messageContent["exists"] == true
                )
                state.simulatedPhones.write(call, on: page.phone, at: time)
            }
        case "error":
            edit { state, time in
                let text = messageContent["text"]?.string ?? ""
                state.simulatedPhones.write(.pageError(text), on: page.phone, at: time)
            }
        // Every script of the page can call this function, but only the script that Assay injects
        // sends these kinds of messages.
        default: break
        }
    }

    private func command(_ text: String, time page: Int64, _ from: BrowserPage) {
        if killIfDue(from) { return }
        let (reply, isKilled) = edit { state, time -> (JSONValue, Bool) in
            state.lastActivityTime = time
            let reply = state.simulatedPhones.command(
                text,
                from: from.phoneRef,
                pageTime: page,
                at: time
            )
            let delays = (reply["replies"]?.array ?? []).compactMap { $0["delay"]?.int64 }
            if let last = delays.max() {
                state.lastReplyTime = max(state.lastReplyTime, time + last * 1000 + 50_000)
            }
            let isKilled = state.killPointTracker.killsAfter(
                BridgeCommand(text),
                idKey: state.simulatedPhones.key(.id)
            )
            return (reply, isKilled)
        }
        if isKilled { return kill(from) }
        from.apply(reply)
    }

    /// Kills the page if a planned kill is due now, and returns whether it was killed.
    private func killIfDue(_ page: BrowserPage) -> Bool {
        let killIfDue = state.withLock { $0.killPointTracker.isBeingKilled(page.phone) }
        if killIfDue { kill(page) }
        return killIfDue
    }

    private func kill(_ page: BrowserPage) {
        edit { state, time in
            state.killPointTracker.end(page.phone)
            state.simulatedPhones.write(UserAction("kill"), on: page.phone, at: time)
            state.pages[page.phone]?.removeAll { $0 === page }
        }
        page.close()
    }

    // MARK: The page's calls

    private func holdRequest(_ request: PageRequest, _ page: BrowserPage) async {
        if request.responseStatus != nil || request.failure != nil {
            return await answered(request, page)
        }
        if let host = request.host, !HostName.isLoopback(host),
            !configuration.allowedHosts.contains(host)
        {
            configuration.blockedHosts.withLock { _ = $0.insert(host) }
            return page.block(request)
        }
        let route = state.withLock {
            $0.simulatedPhones.backend.route(request.message.method, request.message.target)
        }
        guard let route else {
            if request.message.method == "OPTIONS", request.origin != nil {
                return page.respondToPreflight(request)
            }
            if request.isFromScript {
                edit { state, time in
                    let call = request.message.method + " " + request.message.path
                    state.simulatedPhones.write(.unmatchedRequest(call), on: page.phone, at: time)
                }
            }
            return page.postMethod("Fetch.continueRequest", ["requestId": .string(request.number)])
        }
        if killIfDue(page) { return }
        let (sequence, answer) = beginCall(route, request, page)
        switch answer {
        case nil:
            state.withLock { $0.forwardedCallSequences[page.session + request.number] = sequence }
            page.postMethod(
                "Fetch.continueRequest",
                ["requestId": .string(request.number), "interceptResponse": true]
            )
        case .reset?:
            completeExchange(sequence, .failed(.closed, "planned reset"))
            page.block(request, reason: "ConnectionReset")
        case .never?: break
        case .answered(let response, let delay)?:
            if delay > .zero {
                // The contract sets the delay of this response.
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

    /// Records a call to the backend, and returns its number in the journal and its response; a nil
    /// response for a call to the page's own backend.
    private func beginCall(
        _ route: String,
        _ request: PageRequest,
        _ page: BrowserPage
    ) -> (sequence: Int, answer: AppBackend.CallResult?) {
        edit { state, time in
            state.lastActivityTime = time
            let (sequence, answer): (Int, AppBackend.CallResult?)
            if profile.app.usesOwnBackend {
                (sequence, answer) =
                    state.simulatedPhones.recordCall(
                        route,
                        request.message,
                        from: page.phoneRef,
                        at: time
                    )
            } else {
                (sequence, answer) =
                    state.simulatedPhones.call(
                        route,
                        request.message,
                        from: page.phoneRef,
                        at: time
                    )
            }
            // A call that never gets a response is not waited for.
            state.isResponseExpectedByCall[sequence] = answer != .never
            if let number = request.networkRequestID {
                state.callSequencesByRequest[page.session + number] = sequence
            }
            return (sequence, answer)
        }
    }

    /// Records the first outcome of a call; later outcomes of the same call are ignored.
    private func completeExchange(_ sequence: Int, _ outcome: Exchange.Outcome) {
        edit { state, time in
            state.lastActivityTime = time
            guard state.isResponseExpectedByCall.removeValue(forKey: sequence) != nil else {
                return
            }
            state.simulatedPhones.complete(sequence, outcome, at: time)
        }
    }

    private func answer(
        _ request: PageRequest,
        _ response: HTTPMessage.Response,
        _ sequence: Int,
        _ route: String,
        _ page: BrowserPage
    ) {
        completeExchange(sequence, .answered(response))
        if isKilled(at: route, page) { return }
        page.fulfill(request, response)
    }

    /// Kills the page if the contract kills it when this route responds, and returns whether it was
    /// killed.
    private func isKilled(at route: String, _ page: BrowserPage) -> Bool {
        let isKilled = state.withLock { $0.killPointTracker.answered(route, on: page.phone) }
        guard isKilled else { return false }
        kill(page)
        return true
    }

    /// Records a response that the page's own backend has sent, and passes it on to the page.
    private func answered(_ request: PageRequest, _ page: BrowserPage) async {
        let sequence = state.withLock {
            $0.forwardedCallSequences.removeValue(forKey: page.session + request.number)
        }
        if let sequence {
            if let status = request.responseStatus {
                let bodyResult = await page.callMethod(
                    "Fetch.getResponseBody",
                    ["requestId": .string(request.number)]
                )
                let text = bodyResult?["body"]?.string ?? ""
                let body =
                    bodyResult?["base64Encoded"] == true
                    ? Base64.bytes(text) ?? [] : Array(text.utf8)
                completeExchange(
                    sequence,
                    .answered(
                        HTTPMessage.Response(status, fields: request.responseFields, body: body)
                    )
                )
            } else {
                completeExchange(sequence, .failed(.closed, request.failure ?? ""))
            }
            let route = state.withLock {
                $0.simulatedPhones.backend.route(request.message.method, request.message.target)
            }
            if let route, isKilled(at: route, page) { return }
        }
        page.postMethod("Fetch.continueResponse", ["requestId": .string(request.number)])
    }
}

extension BrowserPage {
    fileprivate func fulfill(_ request: PageRequest, _ response: HTTPMessage.Response) {
        let fields = (response.fields + request.corsHeaders).map { field -> JSONValue in
            ["name": .string(field.name), "value": .string(field.value)]
        }
        postMethod(
            "Fetch.fulfillRequest",
            [
                "requestId": .string(request.number),
                "responseCode": .integer(Int64(response.status)),
                "responseHeaders": .array(fields), "body": .string(Base64.text(response.body)),
            ]
        )
    }

    fileprivate func block(_ request: PageRequest, reason: String = "BlockedByClient") {
        postMethod(
            "Fetch.failRequest",
            ["requestId": .string(request.number), "errorReason": .string(reason)]
        )
    }

    /// Responds to a CORS preflight request of a page whose origin is not that of the backend.
    fileprivate func respondToPreflight(_ request: PageRequest) {
        let requestedHeaders =
            request.message[field: "access-control-request-headers"] ?? "content-type"
        fulfill(
            request,
            HTTPMessage.Response(
                204,
                fields: [
                    HTTPMessage.Field("access-control-allow-methods", "GET, POST, PUT, DELETE"),
                    HTTPMessage.Field("access-control-allow-headers", requestedHeaders),
                ]
            )
        )
    }
}
