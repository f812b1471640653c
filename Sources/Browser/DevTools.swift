internal import Foundation
package import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A connection to a browser over two pipes, by the DevTools protocol.
///
/// Each message is JSON and ends with a zero byte.
package final class DevTools: Sendable {
    /// The error for a DevTools call that failed: the message of the browser, or a missing
    /// response.
    package struct CallError: Error, Sendable, CustomStringConvertible {
        package let method: String
        package let text: String

        package var description: String { "\(method): \(text)" }
    }

    /// An event that the browser sends without a request.
    package struct Event: Sendable {
        package let method: String
        package let parameters: JSONValue
    }

    private struct State {
        var callID: Int64 = 0
        var waitingCalls: [Int64: CheckedContinuation<Void, Never>] = [:]
        /// The browser's responses, by the number of the call, that the waiting callers have not
        /// taken yet.
        var responses: [Int64: JSONValue] = [:]
        var listeners: [String: AsyncStream<Event>.Continuation] = [:]
        var isClosed = false
    }

    private let state = NSLock()
    private nonisolated(unsafe) var values = State()
    private let writeEnd: Int32
    private let writeLock = NSLock()

    init(writeEnd: Int32, readEnd: Int32) {
        self.writeEnd = writeEnd
        let thread = Thread { [weak self] in
            Self.read(readEnd) { self?.handleMessage($0) }
            close(readEnd)
            self?.finish()
        }
        thread.name = "assay.devtools"
        thread.start()
    }

    private func withLockedState<Result>(_ body: (inout State) -> Result) -> Result {
        state.lock()
        defer { state.unlock() }
        return body(&values)
    }

    // MARK: Calls

    /// Calls a DevTools method of the browser and waits for its result.
    ///
    /// - Parameters:
    ///   - method: The method, such as `Page.navigate`.
    ///   - parameters: The parameters of the method.
    ///   - session: The ID of the DevTools session of a page; nil for the browser itself.
    ///   - time: The longest time for the response; a page that is in an endless loop never
    ///     responds.
    /// - Returns: The result.
    /// - Throws: `CallError` when the browser refuses, has ended, or does not respond in time.
    @discardableResult
    package func send(
        _ method: String,
        _ parameters: JSONObject = [:],
        session: String? = nil,
        within time: Duration = .seconds(10)
    ) async throws(CallError) -> JSONValue {
        let callID = withLockedState { state in
            state.callID += 1
            return state.callID
        }
        let timeoutTask = Task {
            try await ContinuousClock().sleep(for: time)
            self.answer(callID, nil)
        }
        defer { timeoutTask.cancel() }
        await withCheckedContinuation { continuation in
            let isClosed = withLockedState { state in
                if !state.isClosed { state.waitingCalls[callID] = continuation }
                return state.isClosed
            }
            if isClosed {
                continuation.resume()
            } else {
                sendWithoutReply(callID, method, parameters, session)
            }
        }
        let answer = withLockedState { $0.responses.removeValue(forKey: callID) }
        guard let answer else {
            let isClosed = withLockedState { $0.isClosed }
            throw CallError(
                method: method,
                text: isClosed
                    ? "the browser has ended" : "no response within \(time.milliseconds) ms"
            )
        }
        if let error = answer["error"] {
            throw CallError(method: method, text: error["message"]?.string ?? error.text)
        }
        return answer["result"] ?? .null
    }

    /// Calls a DevTools method of the browser without waiting for its result.
    package func sendWithoutReply(
        _ method: String,
        _ parameters: JSONObject = [:],
        session: String? = nil
    ) {
        let callID = withLockedState { state in
            state.callID += 1
            return state.callID
        }
        sendWithoutReply(callID, method, parameters, session)
    }

    private func sendWithoutReply(
        _ callID: Int64,
        _ method: String,
        _ parameters: JSONObject,
        _ session: String?
    ) {
        var message: JSONObject = [
            "id": .integer(callID), "method": .string(method), "params": .object(parameters),
        ]
        if let session { message["sessionId"] = .string(session) }
        let bytes = JSONValue.object(message).bytes + [0]
        writeLock.lock()
        defer { writeLock.unlock() }
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(writeEnd, $0.baseAddress?.advanced(by: start), bytes.count - start)
            }
            if count <= 0 {
                if errno == EINTR { continue }
                return
            }
            start += count
        }
    }

    // MARK: Events

    /// Returns the events of a page's DevTools session from now on.
    ///
    /// The stream ends when the browser ends or when `stopListening` is called.
    package func events(of session: String) -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        let isClosed = withLockedState { state in
            if !state.isClosed { state.listeners[session] = continuation }
            return state.isClosed
        }
        if isClosed { continuation.finish() }
        return stream
    }

    package func stopListening(_ session: String) {
        withLockedState { $0.listeners.removeValue(forKey: session) }?.finish()
    }

    private func answer(_ callID: Int64, _ value: JSONValue?) {
        let continuation = withLockedState { state in
            let continuation = state.waitingCalls.removeValue(forKey: callID)
            if continuation != nil { state.responses[callID] = value }
            return continuation
        }
        continuation?.resume()
    }

    private func handleMessage(_ bytes: [UInt8]) {
        guard let message = JSONValue(ifValid: bytes) else { return }
        if let callID = message["id"]?.int64 { return answer(callID, message) }
        guard let method = message["method"]?.string else { return }
        let session = message["sessionId"]?.string ?? ""
        let listener = withLockedState { $0.listeners[session] }
        listener?.yield(Event(method: method, parameters: message["params"] ?? .null))
    }

    /// Closes the connection to the browser.
    ///
    /// Waiting calls end with an error.
    func end() {
        let isFirst = withLockedState { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if isFirst { close(writeEnd) }
        finish()
    }

    private func finish() {
        let (waitingCalls, listeners) = withLockedState { state in
            defer {
                state.isClosed = true
                state.waitingCalls = [:]
                state.listeners = [:]
            }
            return (state.waitingCalls, state.listeners)
        }
        for continuation in waitingCalls.values { continuation.resume() }
        for listener in listeners.values { listener.finish() }
    }

    private static func read(_ descriptor: Int32, _ handleMessage: ([UInt8]) -> Void) {
        var message: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = buffer.withUnsafeMutableBytes {
                #if canImport(Glibc)
                Glibc.read(descriptor, $0.baseAddress, $0.count)
                #else
                Darwin.read(descriptor, $0.baseAddress, $0.count)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            var unparsedBytes = buffer[..<count]
            while let terminatorIndex = unparsedBytes.firstIndex(of: 0) {
                message += unparsedBytes[..<terminatorIndex]
                handleMessage(message)
                message.removeAll(keepingCapacity: true)
                unparsedBytes = unparsedBytes[(terminatorIndex + 1)...]
            }
            message += unparsedBytes
        }
    }
}
