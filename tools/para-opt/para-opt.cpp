#include "para/Driver/Driver.h"

int main(int argc, char **argv) { return para::runParaOpt(argc, argv); }
