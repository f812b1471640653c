internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// What is started, and what it inherits: nothing but what stands here.
package struct ProgramCommand: Sendable {
    /// Where one of the program's descriptors leads.
    package enum Stream: Hashable, Sendable {
        case nothing
        /// A descriptor of ours, which stays ours.
        case descriptor(Int32)
        /// The end of a file, which is made when it is not there.
        case appending(path: String)
        /// Where standard output leads.
        case sameAsOutput
    }

    /// The path of an executable file.
    package var path: String
    package var arguments: [String]
    /// The folder in which it runs; nil is ours.
    package var folder: String?
    /// The whole environment; nil is `inheritedEnvironment`.
    package var environment: [String: String]?
    package var input: Stream = .nothing
    package var output: Stream = .nothing
    package var errors: Stream = .nothing
    /// Descriptors of ours by the numbers, from 3 to 8, under which the program gets them.
    package var descriptors: [Int32: Int32] = [:]
    /// The group is killed when we are gone, however we went.
    package var endsWithUs = false

    package init(_ path: String, _ arguments: [String] = []) {
        self.path = path
        self.arguments = arguments
    }

    /// Our environment without the variables that configure Assay.
    ///
    /// They hold keys of live services, the token of the control API and the redaction key.
    package static var inheritedEnvironment: [String: String] {
        withoutOurs(ProcessInfo.processInfo.environment)
    }

    /// An environment without the variables whose names begin with `ASSAY_`.
    package static func withoutOurs(_ environment: [String: String]) -> [String: String] {
        environment.filter { !$0.key.hasPrefix("ASSAY_") }
    }

    /// Where an executable of that name is.
    ///
    /// - Parameters:
    ///   - name: A path, or a name that is looked for.
    ///   - searchPath: Folders, separated by colons.
    /// - Returns: Its path; nil when there is none that can be executed.
    package static func find(_ name: String, searchPath: String) -> String? {
        if name.contains("/") { return isProgram(name) ? name : nil }
        guard !name.isEmpty else { return nil }
        return searchPath.split(separator: ":").lazy.map { "\($0)/\(name)" }.first(where: isProgram)
    }

    /// A file that can be executed, and no folder.
    static func isProgram(_ path: String) -> Bool {
        var info = stat()
        return access(path, X_OK) == 0 && stat(path, &info) == 0
            && info.st_mode & S_IFMT == S_IFREG
    }
}
