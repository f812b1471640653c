internal import Values

/// Reads `curl` command lines that were typed or copied from a browser.
extension ImportReader {
    mutating func curl(_ bytes: [UInt8]) throws(RecordingError) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw makeError(1, "the file is not UTF-8 text", "Save the commands as UTF-8.")
        }
        let commands = try ShellWords.commands(text)
        // An invalid command makes the whole import fail, because it may be the end of the previous
        // command. For example, an `&` without quotes splits a command in two, and the first part
        // alone would be a different request.
        for command in commands { try add(command) }
        if commands.isEmpty {
            throw makeError(1, "the file has no curl command", "Pass a file with curl commands.")
        }
    }

    private mutating func add(_ command: ShellWords.Command) throws(RecordingError) {
        var words = command.words[...]
        if words.first == "$" { words.removeFirst() }
        guard let programName = words.popFirst(), ["curl", "curl.exe"].contains(programName) else {
            throw makeError(
                command.line,
                "this is not a curl command",
                "Begin each command with 'curl', and put a URL with & in quotes; comments begin "
                    + "with #."
            )
        }
        let requests: [HTTPMessage.Request]
        do throws(CurlCommand.Problem) {
            requests = try CurlCommand(Array(words), files: context.files).requests
        } catch {
            throw makeError(command.line, error.text, error.remedy)
        }
        for request in requests { try add(request, nil, at: nil, line: command.line) }
    }
}
