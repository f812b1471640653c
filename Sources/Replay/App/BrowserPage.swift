internal import Browser
internal import Conformance
internal import FakeServers

/// One page of an app in a browser: what it asks for and says comes out as events.
final class BrowserPage: Sendable {
    /// The function by which the shim speaks to us.
    static let binding = "__assaySay"

    let ref: PhoneRef
    let session: String
    private let target: String
    private let devTools: DevTools
    /// Requests that the browser holds until somebody says what becomes of them.
    private let held = Locked<Set<String>>([])

    /// Opens an empty page in a context of its own web storage.
    ///
    /// - Parameters:
    ///   - devTools: The browser.
    ///   - context: The browser context.
    ///   - ref: The phone that it plays, and which load of the app it is.
    /// - Throws: `DevTools.CallError` when the browser does not do as it is told.
    init(
        _ devTools: DevTools,
        context: String,
        ref: PhoneRef
    ) async throws(DevTools.CallError) {
        self.devTools = devTools
        self.ref = ref
        let made = try await devTools.send(
            "Target.createTarget",
            ["url": "about:blank", "browserContextId": .string(context)]
        )
        target = made["targetId"]?.string ?? ""
        let attached = try await devTools.send(
            "Target.attachToTarget",
            ["targetId": .string(target), "flatten": true]
        )
        session = attached["sessionId"]?.string ?? ""
    }

    /// The name of the phone that it plays.
    var phone: String { ref.name }

    var events: AsyncStream<DevTools.Event> { devTools.events(of: session) }

    /// Prepares the page: what it is told of the device, and that nothing leaves it unseen.
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

    /// Opens the app; the text says why it could not be loaded.
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
            return "it did not load within \(time.milliseconds) ms"
        }
    }

    /// The value of an expression; nil when the page does not answer.
    func evaluate(_ expression: String, within time: Duration = .seconds(3)) async -> JSONValue? {
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

    /// Hands the shim what the native side answers.
    func apply(_ replies: JSONValue) {
        devTools.post(
            "Runtime.evaluate",
            ["expression": .string("window.__assay && window.__assay.apply(\(replies.text))")],
            session: session
        )
    }

    func say(_ method: String, _ parameters: JSONObject) {
        if let number = parameters["requestId"]?.string { held.withLock { _ = $0.remove(number) } }
        devTools.post(method, parameters, session: session)
    }

    /// The browser waits until something is said of that request.
    func hold(_ number: String) { held.withLock { _ = $0.insert(number) } }

    func ask(_ method: String, _ parameters: JSONObject) async -> JSONValue? {
        try? await devTools.send(method, parameters, session: session)
    }

    /// The system ends the app: no handler of the page runs.
    func close() {
        devTools.ignore(session)
        // What is held when the page goes would be let out to the network, and so would what a page
        // says in its last moment.
        devTools.post("Emulation.setScriptExecutionDisabled", ["value": true], session: session)
        for number in held.withLock({ $0.sorted() }) {
            say("Fetch.failRequest", ["requestId": .string(number), "errorReason": "Aborted"])
        }
        devTools.post("Target.closeTarget", ["targetId": .string(target)])
    }

    /// A picture of what the page shows, as base64 of a PNG.
    func picture() async -> String? {
        await ask("Page.captureScreenshot", ["format": "png"])?["data"]?.string
    }
}
