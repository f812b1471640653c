internal import AsyncHTTPClient
internal import Crypto
internal import GRDB
internal import Hummingbird
