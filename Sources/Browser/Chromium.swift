internal import Conformance
internal import Foundation
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A headless Chromium that Assay started, driven by the DevTools protocol over a pipe.
///
/// Two descriptors instead of a port: nobody else can drive it, and it ends when the pipe does.
package final class Chromium: Sendable {
    /// No browser, or one that does not start.
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    private let process: pid_t
    private let folder: String
    private let isClosed = Atomic<Bool>(false)
    package let devTools: DevTools

    /// The names that a package manager gives the program.
    private static let names = [
        "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
        "headless_shell", "chrome-headless-shell",
    ]

    /// Where the browser is.
    ///
    /// - Parameters:
    ///   - given: A path that a person gave; nil looks on the search path.
    ///   - path: The search path, colon-separated.
    /// - Returns: The path of an executable file.
    /// - Throws: `StartError` that says how to install one.
    package static func find(_ given: String?, path: String) throws(StartError) -> String {
        if let given {
            if access(given, X_OK) == 0 { return given }
            let isName = !given.contains("/")
            if isName, let found = search([given], path) { return found }
            throw StartError(description: "there is no browser '\(given)'")
        }
        if let found = search(names, path) { return found }
        throw StartError(
            description: "no Chromium on the PATH. Install it with 'apt-get install chromium' "
                + "(macOS: 'brew install --cask chromium'), or name one with --browser PATH; "
                + "'assay app --scripted' needs none"
        )
    }

    private static func search(_ names: [String], _ path: String) -> String? {
        let folders = path.split(separator: ":")
        for name in names {
            for folder in folders where access("\(folder)/\(name)", X_OK) == 0 {
                return "\(folder)/\(name)"
            }
        }
        return nil
    }

    /// Starts a browser.
    ///
    /// - Parameters:
    ///   - executable: Its path.
    ///   - startTime: How long it may take until it answers.
    /// - Throws: `StartError` when it cannot be started or does not answer.
    package init(_ executable: String, startTime: Duration = .seconds(30)) async throws(StartError)
    {
        var input: [Int32] = [0, 0]
        var output: [Int32] = [0, 0]
        guard pipe(&input) == 0, pipe(&output) == 0 else {
            throw StartError(description: "cannot start the browser: no file descriptor is left")
        }
        for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        folder = NSTemporaryDirectory() + "assay-browser-" + UUID().uuidString
        var arguments = [
            executable, "--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + folder,
            "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--mute-audio",
            "--hide-scrollbars", "--disable-extensions", "--disable-sync", "--disable-translate",
            "--disable-background-networking", "--disable-component-update",
            "--disable-default-apps", "--disable-domain-reliability", "--metrics-recording-only",
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            "--disable-backgrounding-occluded-windows", "--disable-hang-monitor",
            "--disable-popup-blocking", "--disable-dev-shm-usage", "--password-store=basic",
            "--disable-features=Translate,MediaRouter,OptimizationHints,CalculateNativeWinOcclusion",
            "--force-device-scale-factor=1", "--window-size=430,932", "about:blank",
        ]
        // The sandbox refuses to run for root, as in most containers.
        if geteuid() == 0 { arguments.insert("--no-sandbox", at: 1) }
        do throws(StartError) {
            process = try Self.spawn(arguments, input: input[0], output: output[1])
        } catch {
            for end in input + output { close(end) }
            throw error
        }
        close(input[0])
        close(output[1])
        devTools = DevTools(writing: input[1], reading: output[0])
        guard (try? await devTools.send("Browser.getVersion", within: startTime)) != nil else {
            devTools.end()
            kill(-process, SIGKILL)
            var status: Int32 = 0
            waitpid(process, &status, 0)
            try? FileManager.default.removeItem(atPath: folder)
            throw StartError(
                description: "'\(executable)' does not answer as a Chromium does; try "
                    + "'\(executable) --headless=new --dump-dom about:blank'"
            )
        }
    }

    deinit { end() }

    /// Ends the browser and everything that it started, and removes what it stored.
    package func end() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        devTools.end()
        kill(-process, SIGKILL)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// A group of its own: a browser is many processes.
    private static func spawn(
        _ words: [String],
        input: Int32,
        output: Int32
    ) throws(StartError) -> pid_t {
        #if canImport(Glibc)
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #else
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // The protocol reads from 3 and writes to 4; the ends may have those numbers themselves.
        let (high, higher) = (fcntl(input, F_DUPFD_CLOEXEC, 10), fcntl(output, F_DUPFD_CLOEXEC, 10))
        defer {
            close(high)
            close(higher)
        }
        posix_spawn_file_actions_adddup2(&actions, high, 3)
        posix_spawn_file_actions_adddup2(&actions, higher, 4)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for pointer in arguments { free(pointer) } }
        var process: pid_t = 0
        let result = posix_spawn(&process, words[0], &actions, &attributes, &arguments, environ)
        guard result == 0 else {
            throw StartError(
                description: "cannot start '\(words[0])': \(String(cString: strerror(result)))"
            )
        }
        return process
    }
}
