internal import Yams
