internal import Foundation
internal import Programs
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A headless Chromium, controlled by the DevTools protocol over a pipe.
///
/// A pipe has two advantages over a port: no other program can control the browser, and the browser
/// ends when the pipe is closed.
package final class Chromium: Sendable {
    /// The error for a browser that was not found or does not start.
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    private let program: StartedProgram
    private let profileFolder: WorkFolder
    private let isClosed = Atomic<Bool>(false)
    package let devTools: DevTools

    /// The names that common packages give to the browser's executable file.
    ///
    /// The headless shell has no user interface and comes first. It takes a third of the time for a
    /// page (decision record 0067).
    private static let executableNames = [
        "chrome-headless-shell", "chromium-headless-shell", "headless_shell", "chromium",
        "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    ]

    /// Returns the path of the browser's program.
    ///
    /// - Parameters:
    ///   - configuredName: The path or name that the user gave; nil to look up the known names.
    ///   - path: The search path, separated by colons.
    /// - Returns: The path of an executable file.
    /// - Throws: A `StartError` that explains how to install a browser.
    package static func findExecutable(_ configuredName: String?, path: String) throws(StartError)
        -> String
    {
        if let configuredName {
            if let executablePath = ProgramCommand.findExecutable(configuredName, searchPath: path)
            {
                return executablePath
            }
            throw StartError(description: "the browser '\(configuredName)' does not exist")
        }
        let executablePath = executableNames.lazy.compactMap {
            ProgramCommand.findExecutable($0, searchPath: path)
        }
        .first
        if let executablePath { return executablePath }
        throw StartError(
            description:
                "no Chromium on the PATH; install it with 'apt-get install chromium', or the faster "
                + "'chromium-headless-shell' "
                + "(macOS: 'brew install --cask chromium'), or give its path with --browser PATH; "
                + "'assay app --scripted' needs no browser"
        )
    }

    /// Starts a browser.
    ///
    /// - Parameters:
    ///   - executable: The path of the browser.
    ///   - startTimeout: The longest time until the browser responds.
    /// - Throws: `StartError` when the browser cannot be started or does not respond.
    package init(_ executable: String, startTimeout: Duration = .seconds(30))
        async throws(StartError)
    {
        guard let input = ProgramPipe.ends() else { throw Self.noFileDescriptorError }
        guard let output = ProgramPipe.ends() else {
            for end in [input.readEnd, input.writeEnd] { close(end) }
            throw Self.noFileDescriptorError
        }
        do throws(WorkFolder.CreationError) {
            profileFolder = try WorkFolder("browser")
        } catch {
            for end in [input.readEnd, input.writeEnd, output.readEnd, output.writeEnd] {
                close(end)
            }
            throw StartError(description: error.description)
        }
        var arguments = [
            "--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + profileFolder.path,
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
        // The sandbox of Chromium does not run for root, which is the user in most containers.
        if geteuid() == 0 { arguments.insert("--no-sandbox", at: 0) }
        var command = ProgramCommand(executable, arguments)
        // The browser reads DevTools messages from descriptor 3 and writes to descriptor 4.
        command.descriptors = [3: input.readEnd, 4: output.writeEnd]
        command.endsWithParent = true
        do throws(StartedProgram.StartError) {
            program = try StartedProgram(command)
        } catch {
            for end in [input.readEnd, input.writeEnd, output.readEnd, output.writeEnd] {
                close(end)
            }
            throw StartError(description: error.description)
        }
        close(input.readEnd)
        close(output.writeEnd)
        devTools = DevTools(writeEnd: input.writeEnd, readEnd: output.readEnd)
        // Every failed call has the same meaning, which the error below states.
        guard (try? await devTools.send("Browser.getVersion", within: startTimeout)) != nil else {
            devTools.end()
            program.finish()
            profileFolder.remove()
            throw StartError(
                description: "'\(executable)' does not respond like Chromium; to test it, run "
                    + "'\(executable) --headless=new --dump-dom about:blank'"
            )
        }
    }

    deinit { end() }

    /// Ends the browser and its child processes, and removes its data.
    package func end() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        devTools.end()
        program.finish()
        profileFolder.remove()
    }

    private static let noFileDescriptorError = StartError(
        description: "cannot start the browser: no file descriptor is left"
    )
}
