internal import Programs
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Serves one client of the Model Context Protocol over standard input and output.
///
/// Standard output contains only messages of the protocol. Calls that start a backend run one after
/// the other, because they use the same ports, data and list of failed cases.
actor MCPServer {
    /// The largest length of a message in bytes.
    private static let messageLengthMax = 4 << 20

    private let folder: WritableFolder
    private var session: MCPSession
    private var runningCalls: [Int: RunningCall] = [:]
    private var lastBackendCall: Task<Void, Never>?

    /// A call in its task; the progress is nil when the client wants no progress.
    private struct RunningCall {
        let task: Task<Void, Never>
        let progress: Locked<ToolProgress?>

        func cancel() {
            progress.withLock { $0 = nil }
            task.cancel()
        }
    }

    init(folder: WritableFolder) {
        self.folder = folder
        session = MCPSession(tools: MCPTool.all, instructions: AgentTexts.instructions)
    }

    /// Handles messages until the input ends or the task is canceled, and then stops all calls.
    func serve() async {
        let lines = LineReader.lines(of: STDIN_FILENO, lengthMax: Self.messageLengthMax)
        for await line in lines { handle(line) }
        let calls = Array(runningCalls.values)
        for call in calls { call.cancel() }
        for call in calls { await call.task.value }
    }

    private func handle(_ line: LineSplitter.Line) {
        switch line {
        case .tooLong:
            let limit = Self.messageLengthMax >> 20
            Self.send(MCPError(.parseError, "the line is longer than \(limit) MiB").message)
        case .complete(let bytes):
            for step in session.steps(for: bytes) {
                switch step {
                case .send(let message): Self.send(message)
                case .start(let call): start(call)
                case .cancel(let number): runningCalls[number]?.cancel()
                }
            }
        }
    }

    private func start(_ call: MCPSession.Call) {
        let words: [String]
        do throws(MCPTool.ArgumentError) {
            words = try call.tool.words(call.arguments, in: folder)
            try checkProfile(call)
        } catch {
            finish(call, ToolOutput(error: error.description))
            return
        }
        let progress = Locked(call.progressToken.map(ToolProgress.init))
        let previousCall = call.tool.startsBackend ? lastBackendCall : nil
        let folderPath = folder.path
        let task = Task {
            await previousCall?.value
            if !Task.isCancelled {
                let output = await ToolProcess.run(words, in: folderPath) { line in
                    progress.withLock { progress in
                        if let message = progress?.notification(for: line) { Self.send(message) }
                    }
                }
                if !Task.isCancelled { finish(call, output) }
            }
            runningCalls[call.number] = nil
        }
        runningCalls[call.number] = RunningCall(task: task, progress: progress)
        if call.tool.startsBackend { lastBackendCall = task }
    }

    /// Checks that the profile that a call uses without naming it is in the working folder.
    ///
    /// A run writes the list of its failed cases next to the profile.
    private func checkProfile(_ call: MCPSession.Call) throws(MCPTool.ArgumentError) {
        guard call.tool.startsBackend, call.arguments["profile"] == nil,
            Setting.profile.given(nil) == nil, let path = TargetOptions.path(nil),
            !folder.contains(path)
        else { return }
        throw MCPTool.ArgumentError(
            "the profile '\(path)' is outside the working folder; start 'assay mcp' with "
                + "--folder and the folder of the profile"
        )
    }

    private func finish(_ call: MCPSession.Call, _ output: ToolOutput) {
        if let message = session.response(to: call, output) { Self.send(message) }
    }

    /// Writes a message as one line.
    private static func send(_ message: JSONValue) {
        Terminal.printDocument(message.text + "\n")
    }
}
