# SPDX-License-Identifier: MIT
# bash completion for hone. Commands, parts of `hone cache` and options are asked of hone itself, so that they are always
# those of the hone that is completed.

# The options of a command, a line each; those that take a value end in "=".
_hone_options() {
    "$@" --help 2>/dev/null | sed -n -E 's/^ {2,6}(-., )?(--[a-z-]+)(=?).*/\2\3/p'
}

# The first words of the lines behind a heading of the help.
_hone_listed() {
    local heading=$1
    shift
    "$@" --help 2>/dev/null | sed -n -E "/^$heading:\$/,/^\$/s/^  ([a-z]+).*/\1/p"
}

# The kernels of the cache: of the one that --cache names on the line, else of the default one.
_hone_kernels() {
    local cache=() i
    for ((i = 1; i < ${#words[@]}; i++)); do
        case ${words[i]} in
        --cache) cache=(--cache "${words[i + 1]}") ;;
        --cache=*) cache=("${words[i]}") ;;
        esac
    done
    "${words[0]}" cache list "${cache[@]}" 2>/dev/null | sed -n -E '0,/^kernel  /d; s/^([A-Za-z_][A-Za-z0-9_]*)  .*/\1/p' | sort -u
}

# What `hone space` tells of the config on the line: NAME= of its parameters, or of its problem values.
_hone_names() {
    local kind=$1 word
    for word in "${words[@]:2}"; do
        if [[ $word == *.yaml || $word == *.yml ]]; then
            if [[ $kind == parameters ]]; then
                "${words[0]}" space "$word" 2>/dev/null | sed -n -E 's/^  ([A-Za-z_][A-Za-z0-9_]*) +[0-9]+  .*/\1=/p'
            else
                "${words[0]}" space "$word" 2>/dev/null | sed -n -E '/valid points/s/: .*//p' | tr ',' '\n' |
                    sed -n -E 's/=.*/=/p' | sort -u
            fi
            return
        fi
    done
}

# Outside of a completion, as in a test, there is nothing to set.
_hone_set() {
    compopt -o "$1" 2>/dev/null || true
}

_hone_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

# Files with one of these ends, and folders. An empty list means all files.
_hone_files() {
    local end found
    [[ $# -eq 0 ]] && mapfile -t COMPREPLY < <(compgen -f -- "$current")
    for end in "$@"; do
        mapfile -t found < <(compgen -f -X "!*$end" -- "$current")
        COMPREPLY+=("${found[@]}")
    done
    if [[ $# -gt 0 ]]; then
        mapfile -t found < <(compgen -d -- "$current")
        COMPREPLY+=("${found[@]}")
    fi
    _hone_set filenames
}

# The command on the line, for its help.
_hone_command() {
    command=("${words[0]}" "${words[1]}")
    [[ ${words[1]} == cache ]] && command+=("${words[2]}")
}

# The value of an option: a file, if nothing else is known of it. False where it takes none.
_hone_value() {
    case $1 in
    --strategy)
        _hone_words "auto model genetic exhaustive random"
        ;;
    --regime) _hone_words "cold warm stream graph graph10" ;;
    --format)
        if [[ ${words[1]} == cache ]]; then
            _hone_words "recording t4"
        else
            _hone_words "header json source cubin cubin-header"
        fi
        ;;
    --objective) _hone_words "time energy energy_delay" ;;
    --observe) _hone_words "clocks" ;;
    --arch) _hone_words "sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a sm_100 sm_103 sm_110 sm_120" ;;
    --config) _hone_files .yaml .yml ;;
    --cache) _hone_files .db ;;
    --simulate | --recorded | --roofs) _hone_files .json .json.gz ;;
    --sources) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --output | -o | --events) _hone_files ;;
    --set | -s)
        _hone_words "$(_hone_names parameters)"
        _hone_set nospace
        ;;
    --problem | -p)
        _hone_words "$(_hone_names problem)"
        _hone_set nospace
        ;;
    --budget | --stop-chance | --seed | --device | --run-timeout | --compile-timeout | --jobs | --device-name | --prefix | \
        --max-slowdown | --list | --sample | --look-ahead | --older-than | --threshold | --entry | --kernel | \
        --launch | --limit) ;;
    *)
        _hone_options "${command[@]}" | grep -qxe "$1=" || return 1
        _hone_files
        ;;
    esac
}

# What stands alone: configs, kernels, recordings.
_hone_operand() {
    case ${words[1]} in
    tune | run | space | inputs | compile | explain | replay) _hone_files .yaml .yml ;;
    init) _hone_files .cu .cuh .json ;;
    capture) _hone_files ;;
    export) _hone_words "$(_hone_kernels)" ;;
    report)
        _hone_files .json .json.gz
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_hone_kernels)" -- "$current")
        ;;
    help) _hone_words "$(_hone_listed Commands "${words[0]}")" ;;
    cache)
        case ${words[2]} in
        show | prune | compile) _hone_words "$(_hone_kernels)" ;;
        export)
            _hone_files .json .json.gz
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_hone_kernels)" -- "$current")
            ;;
        import | merge | diff) _hone_files .db .json .json.gz ;;
        esac
        ;;
    esac
}

_hone() {
    local current previous words=("${COMP_WORDS[@]}") at=$COMP_CWORD command
    COMPREPLY=()
    current=${words[at]}
    previous=${words[at - 1]}
    # bash takes "=" for a word of its own: --regime=cold is three.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${words[at - 2]}
    fi
    if ((at == 1)); then
        _hone_words "$(_hone_listed Commands "${words[0]}") help --help --version"
        return
    fi
    if [[ ${words[1]} == cache ]] && ((at == 2)); then
        _hone_words "$(_hone_listed Parts "${words[0]}" cache) --help"
        return
    fi
    _hone_command
    [[ $previous == -* ]] && _hone_value "$previous" && return
    if [[ $current == -* ]]; then
        _hone_words "$(_hone_options "${command[@]}" | tr -d '=')"
        return
    fi
    _hone_operand
}

complete -F _hone hone
