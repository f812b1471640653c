internal import Foundation
internal import Programs

extension Error {
    /// The reason why a file could not be read or written, in the system's words.
    var plainReason: String {
        if let error = self as? OutputFile.WriteError { return error.reason }
        let error = self as NSError
        guard let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError,
            cause.domain == NSPOSIXErrorDomain
        else { return error.localizedDescription }
        return String(cString: strerror(Int32(cause.code)))
    }
}
