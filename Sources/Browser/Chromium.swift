internal import Conformance
internal import Foundation
internal import Programs
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

    private let program: StartedProgram
    private let folder: WorkFolder
    private let isClosed = Atomic<Bool>(false)
    package let devTools: DevTools

    /// The names that a package manager gives the program; the shell without a user interface comes
    /// first, as a page costs it a third (decision 0067).
    private static let names = [
        "chrome-headless-shell", "chromium-headless-shell", "headless_shell", "chromium",
        "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
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
            if let found = ProgramCommand.find(given, searchPath: path) { return found }
            throw StartError(description: "there is no browser '\(given)'")
        }
        let found = names.lazy.compactMap { ProgramCommand.find($0, searchPath: path) }.first
        if let found { return found }
        throw StartError(
            description:
                "no Chromium on the PATH. Install it with 'apt-get install chromium' or, quicker, "
                + "'chromium-headless-shell' "
                + "(macOS: 'brew install --cask chromium'), or name one with --browser PATH; "
                + "'assay app --scripted' needs none"
        )
    }

    /// Starts a browser.
    ///
    /// - Parameters:
    ///   - executable: Its path.
    ///   - startTime: How long it may take until it answers.
    /// - Throws: `StartError` when it cannot be started or does not answer.
    package init(_ executable: String, startTime: Duration = .seconds(30)) async throws(StartError)
    {
        guard let input = ProgramPipe.ends() else { throw Self.noDescriptor }
        guard let output = ProgramPipe.ends() else {
            for end in [input.reading, input.writing] { close(end) }
            throw Self.noDescriptor
        }
        do throws(WorkFolder.MakeError) {
            folder = try WorkFolder("browser")
        } catch {
            for end in [input.reading, input.writing, output.reading, output.writing] { close(end) }
            throw StartError(description: error.description)
        }
        var arguments = [
            "--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + folder.path,
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
        if geteuid() == 0 { arguments.insert("--no-sandbox", at: 0) }
        var command = ProgramCommand(executable, arguments)
        // The protocol reads from 3 and writes to 4.
        command.descriptors = [3: input.reading, 4: output.writing]
        command.endsWithUs = true
        do throws(StartedProgram.StartError) {
            program = try StartedProgram(command)
        } catch {
            for end in [input.reading, input.writing, output.reading, output.writing] { close(end) }
            throw StartError(description: error.description)
        }
        close(input.reading)
        close(output.writing)
        devTools = DevTools(writing: input.writing, reading: output.reading)
        guard (try? await devTools.send("Browser.getVersion", within: startTime)) != nil else {
            devTools.end()
            program.finish()
            folder.remove()
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
        program.finish()
        folder.remove()
    }

    private static let noDescriptor = StartError(
        description: "cannot start the browser: no file descriptor is left"
    )
}
