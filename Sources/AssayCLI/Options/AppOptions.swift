internal import ArgumentParser
internal import Browser
internal import Contracts
internal import Foundation
internal import Grammar
internal import Phone

/// The options that choose the app under test: a web page or the built-in app.
struct AppOptions: ParsableArguments {
    @Option(name: .long, help: Setting.url.help)
    var url: String?

    @Flag(name: .long, help: "Test the built-in app; needs no browser.")
    var scripted = false

    @Option(name: .long, help: "With --scripted: turn on a defect of the built-in app; repeatable.")
    var defect: [String] = []

    @Option(name: .long, help: Setting.browser.help)
    var browser: String?

    /// Whether the command line contains `--url`, `--scripted`, `--defect` or `--browser`.
    var hasAnyOption: Bool { url != nil || scripted || !defect.isEmpty || browser != nil }

    /// Returns the app under test.
    ///
    /// - Parameters:
    ///   - profile: The profile, which may contain the URL of the app.
    ///   - hosts: The hosts other than loopback that the page may be loaded from or call.
    ///   - command: The name of the running command, such as `explore --app`, for error messages.
    ///   - environment: The environment variables, which may name the app or the browser.
    /// - Returns: The built-in app, or a page in a browser.
    /// - Throws: A usage failure when no app is given, or a failure when no browser is found.
    func executor(
        _ profile: Profile,
        _ hosts: [String],
        _ command: String,
        _ environment: [String: String]
    ) throws -> DeviceRun.Executor {
        let url = Setting.url.text(url, environment) ?? profile.app.url
        guard scripted || url != nil else {
            throw CommandFailure(
                .usage,
                "no app to test: give --url URL, or write 'app: {url: …}' in the profile; "
                    + "'assay \(command) --scripted' tests the built-in app instead"
            )
        }
        guard defect.isEmpty || scripted else {
            throw CommandFailure(
                .usage,
                "--defect applies only to the built-in app: add --scripted"
            )
        }
        let defects = try defect.map { try ClientDefect.named($0) }
        guard let url, !scripted else { return .scripted(Set(defects)) }
        _ = try TargetURL(url, flag: "--url", allowed: hosts)
        do throws(Chromium.StartError) {
            let executable = try Chromium.findExecutable(
                Setting.browser.text(browser, environment),
                path: environment["PATH"] ?? ""
            )
            return .browser(url: url, executable: executable, allowedHosts: Set(hosts))
        } catch {
            throw CommandFailure(.unreachable, error.description)
        }
    }

    /// Returns the flags that select the same app in a later run.
    ///
    /// Options from environment variables become flags.
    func replayArguments(_ environment: [String: String]) -> [String] {
        var arguments = scripted ? ["--scripted"] : []
        for name in defect { arguments += ["--defect", name] }
        guard !scripted else { return arguments }
        if let url = Setting.url.text(url, environment) { arguments += ["--url", url] }
        if let name = Setting.browser.text(browser, environment) {
            arguments += ["--browser", name]
        }
        return arguments
    }
}

extension ClientDefect {
    /// Returns the defect of the built-in app that has this name.
    ///
    /// - Throws: A usage failure for an unknown name, which suggests the closest known name.
    static func named(_ name: String) throws -> ClientDefect {
        guard let defect = ClientDefect(rawValue: name) else {
            let nearestName = Suggestion.nearest(to: name, among: allCases.map(\.rawValue))
            throw CommandFailure(
                .usage,
                "unknown defect '\(name)'" + (nearestName.map { "; did you mean '\($0)'?" } ?? "")
            )
        }
        return defect
    }
}
