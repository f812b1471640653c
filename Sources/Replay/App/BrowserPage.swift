internal import Browser
internal import Values

/// One page of an app in a browser, which reports its requests and messages as events.
final class BrowserPage: Sendable {
    /// The name of the page function that sends messages to Assay.
    ///
    /// The script that Assay injects into the page calls it.
    static let binding = "__assaySay"

    let phoneRef: PhoneRef
    let session: String
    private let targetID: String
    private let devTools: DevTools
    /// The IDs of the requests that the browser holds until Assay lets them pass, responds to them,
    /// or fails them.
    private let heldRequestIDs = Locked<Set<String>>([])

    /// Opens an empty page in a browser context, which has separate web storage.
    ///
    /// - Parameters:
    ///   - devTools: The connection to the browser.
    ///   - contextID: The ID of the browser context.
    ///   - phoneRef: The name of the simulated phone that the page belongs to, and the number of this
    ///     load of the app.
    /// - Throws: `DevTools.CallError` when the browser refuses a command or does not respond.
    init(
        _ devTools: DevTools,
        contextID: String,
        phoneRef: PhoneRef
    ) async throws(DevTools.CallError) {
        self.devTools = devTools
        self.phoneRef = phoneRef
        let creationResult = try await devTools.send(
            "Target.createTarget",
            ["url": "about:blank", "browserContextId": .string(contextID)]
        )
        targetID = creationResult["targetId"]?.string ?? ""
        let attachResult = try await devTools.send(
            "Target.attachToTarget",
            ["targetId": .string(targetID), "flatten": true]
        )
        session = attachResult["sessionId"]?.string ?? ""
    }

    /// The name of the simulated phone that the page belongs to.
    var phone: String { phoneRef.name }

    var events: AsyncStream<DevTools.Event> { devTools.events(of: session) }

    /// Prepares the page for the app: injects a script, sets the user agent and the screen, and
    /// intercepts all requests.
    func prepare(script: String, userAgent: String) async throws(DevTools.CallError) {
        for (method, parameters) in [
            ("Page.enable", [:]), ("Runtime.enable", [:]), ("Network.enable", [:]),
            ("Inspector.enable", [:]),
            ("Network.setBypassServiceWorker", ["bypass": true]),
            ("Network.setUserAgentOverride", ["userAgent": .string(userAgent)]),
            (
                "Emulation.setDeviceMetricsOverride",
                ["width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true]
            ),
            ("Runtime.addBinding", ["name": .string(Self.binding)]),
            ("Page.addScriptToEvaluateOnNewDocument", ["source": .string(script)]),
            ("Fetch.enable", ["patterns": [["urlPattern": "*", "requestStage": "Request"]]]),
        ] as [(String, JSONObject)] {
            try await devTools.send(method, parameters, session: session)
        }
    }

    /// Opens the app in the page.
    ///
    /// Returns the reason if it could not be loaded; nil on success.
    func open(_ url: String, within time: Duration) async -> String? {
        do throws(DevTools.CallError) {
            let result = try await devTools.send(
                "Page.navigate",
                ["url": .string(url)],
                session: session,
                within: time
            )
            return result["errorText"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        } catch {
            return "the page did not load within \(time.milliseconds) ms"
        }
    }

    /// Returns the value of a JavaScript expression; nil when it throws an error or the page does
    /// not respond.
    func evaluate(_ expression: String, within time: Duration = .seconds(3)) async -> JSONValue? {
        // The caller handles a page that does not respond in the same way as an error of the
        // script.
        let result = try? await devTools.send(
            "Runtime.evaluate",
            [
                "expression": .string(expression), "returnByValue": true, "userGesture": true,
                "awaitPromise": false,
            ],
            session: session,
            within: time
        )
        guard let result, result["exceptionDetails"] == nil else { return nil }
        return result["result"]?["value"] ?? .null
    }

    /// Passes replies of the simulated native runtime to the script that Assay injected into the
    /// page.
    func apply(_ replies: JSONValue) {
        devTools.sendWithoutReply(
            "Runtime.evaluate",
            ["expression": .string("window.__assay && window.__assay.apply(\(replies.text))")],
            session: session
        )
    }

    func postMethod(_ method: String, _ parameters: JSONObject) {
        if let requestID = parameters["requestId"]?.string {
            heldRequestIDs.withLock { _ = $0.remove(requestID) }
        }
        devTools.sendWithoutReply(method, parameters, session: session)
    }

    /// Records the ID of a request that the browser holds until Assay decides its outcome.
    func holdRequest(_ requestID: String) { heldRequestIDs.withLock { _ = $0.insert(requestID) } }

    func callMethod(_ method: String, _ parameters: JSONObject) async -> JSONValue? {
        // Nil means that the page has closed or does not respond.
        try? await devTools.send(method, parameters, session: session)
    }

    /// Closes the page in the way in which a phone kills an app: no event handler of the page runs.
    func close() {
        devTools.stopListening(session)
        // Scripts are stopped and held requests fail before the page closes. Otherwise, closing the
        // page would release to the network the held requests and any requests that the page sends
        // in its last moment.
        devTools.sendWithoutReply(
            "Emulation.setScriptExecutionDisabled",
            ["value": true],
            session: session
        )
        for requestID in heldRequestIDs.withLock({ $0.sorted() }) {
            postMethod(
                "Fetch.failRequest",
                ["requestId": .string(requestID), "errorReason": "Aborted"]
            )
        }
        devTools.sendWithoutReply("Target.closeTarget", ["targetId": .string(targetID)])
    }

    /// Returns a screenshot of the page, as a Base64-encoded PNG.
    func screenshot() async -> String? {
        await callMethod("Page.captureScreenshot", ["format": "png"])?["data"]?.string
    }
}
