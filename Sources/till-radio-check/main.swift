import Glibc

let status = await RadioCheck.main(Array(CommandLine.arguments.dropFirst()))
exit(status)
