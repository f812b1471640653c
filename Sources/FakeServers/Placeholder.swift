internal import Hummingbird
internal import NIOCore
